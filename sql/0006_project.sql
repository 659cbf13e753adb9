-- Brings projections forward by net row changes that the service folded from journal entries, many trees in one call.
-- Guarded by each tree's projected sequence: a tree that is not where the caller thinks is left alone, and its true
-- sequence is returned. The lock on the projection's head lets any replica project any tree.
-- The b_, c_ and r_ arrays are the columns of budgets, counters and reservations; *_trees is the tree's place, from 1.
-- Counters are differences. Index lookups only: see 0005 for OFFSET 0, 0004 for ON CONFLICT.
CREATE FUNCTION budgetd.project_batch(
  p_trees text[], p_from_seqs bigint[], p_to_seqs bigint[], p_at_ms bigint[], p_budget_counts integer[],
  b_trees integer[], b_nos integer[], b_parent_nos integer[], b_paths text[], b_uncapped boolean[],
  b_label_seqs bigint[], b_defs text[],
  c_trees integer[], c_budget_nos integer[], c_window_nos integer[], c_period_ms bigint[],
  c_held bigint[], c_settled bigint[], c_overrun bigint[], c_active bigint[],
  r_trees integer[], r_ids text[], r_new boolean[], r_budget_nos integer[], r_accounts text[], r_create_ms bigint[],
  r_holders text[], r_grant_seqs bigint[], r_label_seqs text[], r_states text[], r_requested bigint[], r_granted bigint[], r_held bigint[],
  r_settled bigint[], r_released bigint[], r_overrun bigint[], r_estimated_micros bigint[], r_lapsed_held bigint[],
  r_expire_ms bigint[], r_reclaim_ms bigint[], r_ttl_ms bigint[], r_end_ms bigint[], r_late boolean[],
  r_estimated boolean[], r_started boolean[], r_outcomes text[], r_release_reasons text[]
) RETURNS bigint[]
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  v_moves boolean[] := array_fill(false, ARRAY[cardinality(p_trees)]);
  v_seqs bigint[] := array_fill(0::bigint, ARRAY[cardinality(p_trees)]);
  v_seq bigint;
  v_count bigint;
BEGIN
  FOR i IN 1..cardinality(p_trees) LOOP
    SELECT h.seq INTO v_seq FROM budgetd.projection_heads h WHERE h.tree = p_trees[i] FOR UPDATE;
    IF NOT FOUND AND p_from_seqs[i] = 0 THEN
      INSERT INTO budgetd.projection_heads (tree, seq, at_ms, budget_count) VALUES (p_trees[i], 0, 0, 0)
      ON CONFLICT (tree) DO NOTHING;
      SELECT h.seq INTO v_seq FROM budgetd.projection_heads h WHERE h.tree = p_trees[i] FOR UPDATE;
    END IF;
    v_moves[i] := coalesce(v_seq = p_from_seqs[i], false);
    v_seqs[i] := CASE WHEN v_moves[i] THEN p_to_seqs[i] ELSE coalesce(v_seq, 0) END;
  END LOOP;

  IF cardinality(b_trees) > 0 THEN
    INSERT INTO budgetd.budgets AS x (tree, budget_no, parent_no, path, uncapped, label_seq, def)
    SELECT p_trees[b.tree_place], b.no, b.parent_no, b.path, b.uncapped, b.label_seq, b.def::json
    FROM unnest(b_trees, b_nos, b_parent_nos, b_paths, b_uncapped, b_label_seqs, b_defs)
      AS b(tree_place, no, parent_no, path, uncapped, label_seq, def)
    WHERE v_moves[b.tree_place]
    ON CONFLICT (tree, budget_no) DO UPDATE
    SET uncapped = excluded.uncapped, label_seq = coalesce(excluded.label_seq, x.label_seq), def = excluded.def;
  END IF;

  IF cardinality(c_trees) > 0 THEN
    INSERT INTO budgetd.counters AS x
      (tree, budget_no, window_no, period_ms, held_micros, settled_micros, overrun_micros, active_count)
    SELECT p_trees[c.tree_place], c.budget_no, c.window_no, c.period_ms, c.held, c.settled, c.overrun, c.active
    FROM unnest(c_trees, c_budget_nos, c_window_nos, c_period_ms, c_held, c_settled, c_overrun, c_active)
      AS c(tree_place, budget_no, window_no, period_ms, held, settled, overrun, active)
    WHERE v_moves[c.tree_place]
    ON CONFLICT (tree, budget_no, window_no, period_ms) DO UPDATE
    SET held_micros = x.held_micros + excluded.held_micros,
      settled_micros = x.settled_micros + excluded.settled_micros,
      overrun_micros = x.overrun_micros + excluded.overrun_micros,
      active_count = x.active_count + excluded.active_count;
  END IF;

  IF true = ANY (r_new) THEN
    INSERT INTO budgetd.reservations
    SELECT p_trees[r.tree_place], r.id, r.budget_no, r.accounts::bigint[], r.create_ms, r.holder, r.grant_seq,
      r.label_seqs::bigint[], r.state,
      r.requested, r.granted, r.held, r.settled, r.released, r.overrun, r.estimated_micros, r.lapsed_held,
      r.expire_ms, r.reclaim_ms, r.ttl_ms, r.end_ms, r.late, r.estimated, r.started, r.outcome, r.release_reason
    FROM unnest(r_trees, r_ids, r_new, r_budget_nos, r_accounts, r_create_ms, r_holders, r_grant_seqs, r_label_seqs, r_states,
        r_requested, r_granted, r_held, r_settled, r_released, r_overrun, r_estimated_micros, r_lapsed_held,
        r_expire_ms, r_reclaim_ms, r_ttl_ms, r_end_ms, r_late, r_estimated, r_started, r_outcomes, r_release_reasons)
      AS r(tree_place, id, new, budget_no, accounts, create_ms, holder, grant_seq, label_seqs, state,
        requested, granted, held, settled, released, overrun, estimated_micros, lapsed_held,
        expire_ms, reclaim_ms, ttl_ms, end_ms, late, estimated, started, outcome, release_reason)
    WHERE r.new AND v_moves[r.tree_place];
  END IF;

  IF false = ANY (r_new) THEN
    UPDATE budgetd.reservations x
    SET state = r.state, requested_micros = r.requested, granted_micros = r.granted, held_micros = r.held,
      settled_micros = r.settled, released_micros = r.released, overrun_micros = r.overrun,
      estimated_micros = r.estimated_micros, lapsed_held_micros = r.lapsed_held, expire_ms = r.expire_ms,
      reclaim_ms = r.reclaim_ms, ttl_ms = r.ttl_ms, end_ms = r.end_ms, late = r.late, estimated = r.estimated,
      started = r.started, outcome = r.outcome, release_reason = r.release_reason,
      label_seqs = x.label_seqs || r.label_seqs::bigint[]
    FROM unnest(r_trees, r_ids, r_new, r_label_seqs, r_states, r_requested, r_granted, r_held, r_settled, r_released, r_overrun,
        r_estimated_micros, r_lapsed_held, r_expire_ms, r_reclaim_ms, r_ttl_ms, r_end_ms, r_late, r_estimated,
        r_started, r_outcomes, r_release_reasons)
      AS r(tree_place, id, new, label_seqs, state, requested, granted, held, settled, released, overrun,
        estimated_micros, lapsed_held, expire_ms, reclaim_ms, ttl_ms, end_ms, late, estimated,
        started, outcome, release_reason)
    -- The row is found by its key first, then updated by its place: the planner has no other order to choose.
    CROSS JOIN LATERAL (
      SELECT y.ctid FROM budgetd.reservations y WHERE y.tree = p_trees[r.tree_place] AND y.id = r.id OFFSET 0
    ) AS found
    WHERE NOT r.new AND v_moves[r.tree_place] AND x.ctid = found.ctid;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    IF v_count <> (SELECT count(*) FROM unnest(r_trees, r_new) AS r(place, new) WHERE NOT r.new AND v_moves[r.place]) THEN
      RAISE EXCEPTION USING ERRCODE = 'BD003', MESSAGE = 'an entry changes a reservation that is not projected';
    END IF;
  END IF;

  FOR i IN 1..cardinality(p_trees) LOOP
    CONTINUE WHEN NOT v_moves[i];
    UPDATE budgetd.projection_heads h
    SET seq = p_to_seqs[i], at_ms = p_at_ms[i], budget_count = greatest(h.budget_count, p_budget_counts[i]),
      next_reclaim_ms = (
        SELECT r.reclaim_ms FROM budgetd.reservations r
        WHERE r.tree = p_trees[i] AND r.state = 'ACTIVE' ORDER BY r.reclaim_ms LIMIT 1)
    WHERE h.tree = p_trees[i];
  END LOOP;
  RETURN v_seqs;
END $$;
