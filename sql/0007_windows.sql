-- What windows and budgets that close by age ask of the projection, seldom: sums over a budget's past where an edit brings it a
-- window, and budgets that have been idle for long. Index lookups only: see 0005 for OFFSET 0.

-- Whether accounts, flat triples, name a budget.
CREATE FUNCTION budgetd.names_budget(p_accounts bigint[], p_budget_no bigint) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN EXISTS (SELECT FROM generate_series(1, cardinality(p_accounts), 3) AS i WHERE p_accounts[i] = p_budget_no);

-- Reservations that charge a budget. `p_create_ms` and `p_end_ms`: only those admitted, or ended if they have ended, from then
-- on; null: all. Those that lapsed and settle in parts have not ended. A root is charged by all of its tree, which lie in the
-- order of their ids; any other by those of its subtree, of which an index says enough to leave most of them unread, and by
-- those from elsewhere that name it besides.
CREATE FUNCTION budgetd.charging(p_tree text, p_budget_no integer, p_create_ms bigint, p_end_ms bigint)
RETURNS SETOF budgetd.reservations
LANGUAGE sql STABLE
BEGIN ATOMIC
  SELECT r.*
  FROM (
    SELECT b.parent_no FROM budgetd.budgets b WHERE b.tree = p_tree AND b.budget_no = p_budget_no OFFSET 0
  ) AS own
  CROSS JOIN LATERAL (
    SELECT x.* FROM budgetd.reservations x
    WHERE own.parent_no IS NULL AND x.tree = p_tree
      AND (p_create_ms IS NULL OR x.create_ms >= p_create_ms)
      AND (p_end_ms IS NULL OR x.end_ms IS NULL OR x.end_ms >= p_end_ms OR x.late AND x.state = 'EXPIRED')
    ORDER BY x.id OFFSET 0
  ) AS r
  UNION ALL
  SELECT r.*
  FROM (
    SELECT b.path_key, b.parent_no FROM budgetd.budgets b WHERE b.tree = p_tree AND b.budget_no = p_budget_no OFFSET 0
  ) AS own
  CROSS JOIN LATERAL (
    SELECT b.budget_no FROM budgetd.budgets b WHERE b.tree = p_tree AND b.path_key = own.path_key
    UNION ALL
    SELECT b.budget_no FROM budgetd.budgets b
    WHERE b.tree = p_tree AND b.path_key > own.path_key || E'\x01' AND b.path_key < own.path_key || E'\x02'
  ) AS subtree
  CROSS JOIN LATERAL (
    SELECT x.id FROM budgetd.reservations x
    WHERE own.parent_no IS NOT NULL AND x.tree = p_tree AND x.budget_no = subtree.budget_no
      AND (p_create_ms IS NULL OR x.create_ms >= p_create_ms)
      AND (p_end_ms IS NULL OR x.end_ms IS NULL OR x.end_ms >= p_end_ms)
    OFFSET 0
  ) AS within
  CROSS JOIN LATERAL (
    SELECT x.* FROM budgetd.reservations x WHERE x.tree = p_tree AND x.id = within.id OFFSET 0
  ) AS r
  UNION ALL
  SELECT r.*
  FROM (
    SELECT b.path_key, b.parent_no FROM budgetd.budgets b WHERE b.tree = p_tree AND b.budget_no = p_budget_no OFFSET 0
  ) AS own
  CROSS JOIN LATERAL (
    SELECT x.id FROM budgetd.reservations x
    WHERE own.parent_no IS NOT NULL AND x.tree = p_tree AND x.also IS NOT NULL
      AND (p_create_ms IS NULL OR x.create_ms >= p_create_ms)
      AND (p_end_ms IS NULL OR x.end_ms IS NULL OR x.end_ms >= p_end_ms)
    OFFSET 0
  ) AS besides
  CROSS JOIN LATERAL (
    SELECT x.* FROM budgetd.reservations x WHERE x.tree = p_tree AND x.id = besides.id OFFSET 0
  ) AS r
  CROSS JOIN LATERAL (
    SELECT x.path_key FROM budgetd.budgets x WHERE x.tree = p_tree AND x.budget_no = r.budget_no OFFSET 0
  ) AS named
  WHERE named.path_key <> own.path_key
    AND NOT (named.path_key > own.path_key || E'\x01' AND named.path_key < own.path_key || E'\x02')
    AND budgetd.names_budget(r.accounts, p_budget_no)
  UNION ALL
  SELECT r.*
  FROM (
    SELECT b.parent_no FROM budgetd.budgets b WHERE b.tree = p_tree AND b.budget_no = p_budget_no OFFSET 0
  ) AS own
  CROSS JOIN LATERAL (
    SELECT x.* FROM budgetd.reservations x
    WHERE own.parent_no IS NOT NULL AND p_end_ms IS NOT NULL AND x.tree = p_tree AND x.late AND x.state = 'EXPIRED'
      AND x.end_ms < p_end_ms
    OFFSET 0
  ) AS r
  WHERE budgetd.names_budget(r.accounts, p_budget_no);
END;

-- What windows of a budget have to start from, one row each, as projected at `seq`: sums over what was admitted from
-- `p_from_ms` on, and before `p_until_ms` where that is given; or, where there is a step, what settled from then on by the step
-- of when it did. What a live reservation settled, or one that lapsed and settles in parts, is not told apart by time: it counts
-- from the projected time, except what a lapse assumed, which is taken out of the lapse's own step again.
CREATE FUNCTION budgetd.window_history(
  p_tree text, p_budget_no integer, p_from_ms bigint[], p_until_ms bigint[], p_step_ms bigint[]
)
RETURNS TABLE (seq bigint, held_micros text, settled_micros text, overrun_micros text, steps json)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_sort = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
  v_at_ms bigint;
BEGIN
  SELECT h.seq, h.at_ms INTO seq, v_at_ms FROM budgetd.projection_heads h WHERE h.tree = p_tree;
  FOR i IN 1 .. cardinality(p_from_ms) LOOP
    IF p_step_ms[i] IS NULL THEN
      SELECT coalesce(sum(r.held_micros), 0)::text, coalesce(sum(r.settled_micros), 0)::text,
        coalesce(sum(r.overrun_micros), 0)::text, NULL
      INTO held_micros, settled_micros, overrun_micros, steps
      FROM budgetd.charging(p_tree, p_budget_no, p_from_ms[i], NULL) AS r
      WHERE p_until_ms[i] IS NULL OR r.create_ms < p_until_ms[i];
    ELSE
      -- Every live hold counts, and so the lifetime window holds the same.
      SELECT c.held_micros::text, '0', '0' INTO held_micros, settled_micros, overrun_micros
      FROM budgetd.counters c
      WHERE c.tree = p_tree AND c.budget_no = p_budget_no AND c.window_no = 0 AND c.period_ms = 0;
      SELECT json_agg(json_build_array(s.period_ms, s.settled::text, s.overrun::text) ORDER BY s.period_ms) INTO steps
      FROM (
        SELECT part.at_ms / p_step_ms[i] * p_step_ms[i] AS period_ms, sum(part.settled) AS settled,
          sum(part.overrun) AS overrun
        FROM budgetd.charging(p_tree, p_budget_no, NULL, p_from_ms[i]) AS r
        CROSS JOIN LATERAL (
          SELECT CASE WHEN r.state = 'ACTIVE' THEN v_at_ms ELSE r.end_ms END AS at_ms, r.settled_micros AS settled,
            r.overrun_micros AS overrun
          WHERE NOT (r.late AND r.state = 'EXPIRED')
          UNION ALL
          SELECT r.end_ms, r.estimated_micros, 0 WHERE r.late AND r.state = 'EXPIRED'
          UNION ALL
          SELECT v_at_ms, r.settled_micros - r.estimated_micros, r.overrun_micros WHERE r.late AND r.state = 'EXPIRED'
        ) AS part
        WHERE part.at_ms >= p_from_ms[i] AND (part.settled <> 0 OR part.overrun <> 0)
        GROUP BY 1
      ) AS s;
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;

-- Whether something waits that names a path or one below it: the coordinator's own rule. Only an index over all that a request names
-- knows, and that can be read as a bitmap alone.
CREATE FUNCTION budgetd.is_waited_for(p_path text) RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_indexscan = off
SET enable_indexonlyscan = off
SET enable_bitmapscan = on
SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
  RETURN EXISTS (
    SELECT FROM budgetd.reservations r
    WHERE starts_with(r.state, 'QUEUED')
      AND budgetd.waited_paths(r.queue, r.also) COLLATE "C" @> ARRAY[p_path COLLATE "C"]);
END $$;

-- Open budgets that close by age and have had no live hold, nothing that waits and no movement for so long at `p_now_ms`, in the order in which they
-- were to be looked at, after a cursor. Those that were looked at in vain are moved on to when they may be idle at the
-- earliest, so that each is looked at about once in its age, however many there are. Stops after `p_look_count_max` looks: what
-- is left comes another time. A row that somebody else is at is left to them.
CREATE FUNCTION budgetd.idle_budgets(
  p_now_ms bigint, p_after_look_ms bigint, p_after_tree text, p_after_no integer, p_count_max integer,
  p_look_count_max integer
) RETURNS TABLE (tree text, budget_no integer, path text, look_ms bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
  -- A tree that is out of service is not looked at again for so long.
  c_out_of_service_ms CONSTANT bigint := 60000;
  v_row record;
  v_counts record;
  v_next_ms bigint;
  v_count integer := 0;
BEGIN
  FOR v_row IN
    SELECT b.tree, b.budget_no, b.path, b.close_after_ms, b.close_look_ms FROM budgetd.budgets b
    WHERE b.close_look_ms IS NOT NULL AND b.close_look_ms <= p_now_ms
      AND (b.close_look_ms, b.tree, b.budget_no) > (p_after_look_ms, p_after_tree, p_after_no)
    ORDER BY b.close_look_ms, b.tree, b.budget_no LIMIT p_look_count_max
    FOR UPDATE SKIP LOCKED
  LOOP
    EXIT WHEN v_count = p_count_max;
    SELECT c.active_count, c.moved_ms INTO v_counts FROM budgetd.counters c
    WHERE c.tree = v_row.tree AND c.budget_no = v_row.budget_no AND c.window_no = 0 AND c.period_ms = 0;
    v_next_ms := CASE
      WHEN v_counts.active_count > 0 THEN p_now_ms + v_row.close_after_ms
      ELSE v_counts.moved_ms + v_row.close_after_ms
    END;
    IF v_next_ms <= p_now_ms AND budgetd.is_waited_for(v_row.path) THEN
      v_next_ms := p_now_ms + v_row.close_after_ms;
    END IF;
    IF v_next_ms <= p_now_ms AND EXISTS (SELECT FROM budgetd.quarantine q WHERE q.tree = v_row.tree) THEN
      v_next_ms := p_now_ms + c_out_of_service_ms;
    END IF;
    IF v_next_ms > p_now_ms THEN
      UPDATE budgetd.budgets b SET close_look_ms = v_next_ms
      WHERE b.tree = v_row.tree AND b.budget_no = v_row.budget_no;
      CONTINUE;
    END IF;
    tree := v_row.tree;
    budget_no := v_row.budget_no;
    path := v_row.path;
    look_ms := v_row.close_look_ms;
    v_count := v_count + 1;
    RETURN NEXT;
  END LOOP;
END $$;
