-- Who may write, and which trees are out of service.

-- One row. The epoch is its key: an append locks it FOR KEY SHARE, which a renewal of the lease passes and a takeover,
-- which changes the epoch, waits for. So no append of an old epoch commits after a takeover.
-- renewed_at: the holder was alive then. led_at: when this epoch began. gap_from: when a leader was last known to serve
-- before it: holds whose leases ran out in (gap_from, led_at], the time without one, get one more grace.
CREATE TABLE budgetd.writer_lease (
  epoch bigint PRIMARY KEY,
  holder text NOT NULL,
  address text NOT NULL,
  expire_at timestamptz NOT NULL,
  renewed_at timestamptz NOT NULL DEFAULT now(),
  led_at timestamptz NOT NULL DEFAULT '-infinity',
  gap_from timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 10);
CREATE UNIQUE INDEX writer_lease_single ON budgetd.writer_lease ((true));
INSERT INTO budgetd.writer_lease (epoch, holder, address, expire_at) VALUES (0, '', '', '-infinity');

-- Takes the lease where it is free or has run out (the epoch rises by one), or renews it for the holder of this epoch.
-- A leader that was gone before the grace after its own gap was over did not give that grace: its gap goes on.
CREATE FUNCTION budgetd.hold_writer_lease(p_holder text, p_address text, p_epoch bigint, p_ttl_ms bigint, p_grace_ms bigint)
RETURNS TABLE (epoch bigint, address text, held boolean, store_now_ms bigint, expire_ms bigint, gap_ms bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
  v_held boolean;
BEGIN
  UPDATE budgetd.writer_lease w
  SET epoch = CASE WHEN w.holder = p_holder AND w.epoch = p_epoch THEN w.epoch ELSE w.epoch + 1 END,
    holder = p_holder, address = p_address,
    expire_at = clock_timestamp() + p_ttl_ms * interval '1 millisecond',
    renewed_at = clock_timestamp(),
    led_at = CASE WHEN w.holder = p_holder AND w.epoch = p_epoch THEN w.led_at ELSE clock_timestamp() END,
    gap_from = CASE
      WHEN w.holder = p_holder AND w.epoch = p_epoch THEN w.gap_from
      WHEN w.renewed_at < w.led_at + p_grace_ms * interval '1 millisecond' THEN w.gap_from
      ELSE w.renewed_at END
  WHERE (w.holder = p_holder AND w.epoch = p_epoch) OR w.expire_at <= clock_timestamp();
  v_held := FOUND;
  RETURN QUERY
    -- The very instant that was written, so that what is told fits what the next one reads, however long this took.
    SELECT w.epoch, w.address, v_held, budgetd.ms_of_at(CASE WHEN v_held THEN w.renewed_at ELSE clock_timestamp() END),
      CASE WHEN isfinite(w.expire_at) THEN budgetd.ms_of_at(w.expire_at) ELSE 0 END,
      CASE WHEN isfinite(w.led_at) THEN budgetd.ms_of_at(w.led_at) - budgetd.ms_of_at(w.gap_from) ELSE 0 END
    FROM budgetd.writer_lease w;
END $$;

-- A tree out of service, with the reason that people are shown.
CREATE TABLE budgetd.quarantine (
  tree text COLLATE "C" PRIMARY KEY,
  reason text NOT NULL,
  at timestamptz NOT NULL DEFAULT now()
);

GRANT SELECT, UPDATE ON budgetd.writer_lease TO budgetd_service;
GRANT SELECT, INSERT ON budgetd.quarantine TO budgetd_service;
