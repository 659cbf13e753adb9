-- What most teams would write: one function a reserve that locks the budget's row and those of its ancestors, checks them,
-- inserts the reservation with its key and updates the counters.
DROP SCHEMA IF EXISTS yardstick CASCADE;
CREATE SCHEMA yardstick;

CREATE TABLE yardstick.budgets (
  budget_id bigint PRIMARY KEY,
  parent_id bigint REFERENCES yardstick.budgets,
  amount_micros bigint NOT NULL,
  held_micros bigint NOT NULL DEFAULT 0,
  settled_micros bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE TABLE yardstick.reservations (
  reservation_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  budget_id bigint NOT NULL REFERENCES yardstick.budgets,
  idempotency_key text NOT NULL UNIQUE,
  granted_micros bigint NOT NULL,
  create_time timestamptz NOT NULL DEFAULT now(),
  expire_time timestamptz NOT NULL
);
CREATE INDEX reservations_expire ON yardstick.reservations (expire_time);

CREATE FUNCTION yardstick.reserve(p_budget_id bigint, p_key text, p_micros bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  v_chain bigint[];
  v_level bigint;
  v_row yardstick.budgets;
  v_id bigint;
BEGIN
  SELECT r.reservation_id INTO v_id FROM yardstick.reservations r WHERE r.idempotency_key = p_key;
  IF FOUND THEN
    RETURN v_id;
  END IF;
  WITH RECURSIVE chain AS (
    SELECT b.budget_id, b.parent_id, 1 AS depth FROM yardstick.budgets b WHERE b.budget_id = p_budget_id
    UNION ALL
    SELECT b.budget_id, b.parent_id, c.depth + 1 FROM yardstick.budgets b JOIN chain c ON b.budget_id = c.parent_id
  )
  SELECT array_agg(c.budget_id ORDER BY c.depth DESC) INTO v_chain FROM chain c;
  FOREACH v_level IN ARRAY v_chain LOOP
    SELECT * INTO v_row FROM yardstick.budgets b WHERE b.budget_id = v_level FOR UPDATE;
    IF v_row.settled_micros + v_row.held_micros + p_micros > v_row.amount_micros THEN
      RAISE EXCEPTION 'budget % has not enough left', v_level;
    END IF;
  END LOOP;
  FOREACH v_level IN ARRAY v_chain LOOP
    UPDATE yardstick.budgets b SET held_micros = b.held_micros + p_micros WHERE b.budget_id = v_level;
  END LOOP;
  INSERT INTO yardstick.reservations (budget_id, idempotency_key, granted_micros, expire_time)
  VALUES (p_budget_id, p_key, p_micros, now() + interval '60 seconds')
  RETURNING reservation_id INTO v_id;
  RETURN v_id;
END $$;

-- Tree n has budgets 3n + 1 (root), 3n + 2 and 3n + 3 (leaf).
INSERT INTO yardstick.budgets (budget_id, parent_id, amount_micros)
SELECT 3 * tree + level, CASE WHEN level > 1 THEN 3 * tree + level - 1 END, 1000000000000000
FROM generate_series(0, 1023) AS tree, generate_series(1, 3) AS level;
ANALYZE yardstick.budgets;
