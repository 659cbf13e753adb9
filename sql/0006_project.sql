-- Brings projections forward by net row changes that the service folded from journal entries, many trees in one call.
-- Guarded by each tree's projected sequence: a tree that is not where the caller thinks is left alone, and its true
-- sequence is returned. The lock on the projection's head lets any replica project any tree.
-- Numbers and texts come as one array each, row after row: one array to read and no row set to put together from twenty of
-- them halves the cost of a reservation's way to its table. A row begins with its tree's place in p_trees, from 1:
--   b_numbers (6)  tree, number, parent's number, entry of its labels, close after, when to look whether to close it
--   b_texts (3)    path, uncapped, definition
--   c_numbers (10) tree, budget, window, period; held, settled, overrun, live, open children: by how much they move; when
--   l_numbers (4)  tree, budget, rate, time                                   l_levels (1)  level
--   a_numbers (8)  tree, budget, limit, period, percent, time, used, amount
--   r_numbers (17) tree, state, outcome, marks (1 late, 2 estimated, 4 started), requested, granted, held, settled,
--                  released, overrun, estimated, lapsed held, expire, reclaim, ttl, end, renewals
--   r_texts (3)    id, entries of its labels, release reason
-- The first r_new_count reservations are new, and have besides
--   g_numbers (3)  budget, time, entry of the grant
--   g_texts (6)    holder, accounts, also, priority, alternative, shadow
-- Where anything is written of prices, all reservations have besides (else it is empty: what is past its end is null)
--   p_lines (2)    price, priced, a line each: JSON has no newlines, and nothing to be escaped; empty: as it was
-- Of what waited or waits, which most never do:
--   w_numbers (1)  tree   w_texts (1)  id             rows of when they waited, taken away first: they are granted, and new
--   q_numbers (1)  tree   q_texts (2)  id, queue      new ones that wait, or left the queue ungranted
-- Index lookups only: see 0005 for OFFSET 0, 0004 for ON CONFLICT.
CREATE FUNCTION budgetd.project_batch(
  p_trees text[], p_from_seqs bigint[], p_to_seqs bigint[], p_at_ms bigint[], p_budget_counts integer[],
  b_numbers bigint[], b_texts text[], c_numbers bigint[], l_numbers bigint[], l_levels numeric[],
  a_numbers bigint[],
  r_new_count integer, r_numbers bigint[], r_texts text[], g_numbers bigint[], g_texts text[],
  p_lines text,
  w_numbers bigint[], w_texts text[], q_numbers bigint[], q_texts text[]
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
  c_states CONSTANT text[] := '{ACTIVE,SETTLED,RELEASED,EXPIRED,QUEUED}';
  c_outcomes CONSTANT text[] := '{succeeded,failed,cancelled}';
  p_texts CONSTANT text[] := string_to_array(p_lines, E'\n', '');
  v_moves boolean[];
  v_seqs bigint[];
  v_count bigint;
  v_wanted bigint;
BEGIN
  IF 0 = ANY (p_from_seqs) THEN
    INSERT INTO budgetd.projection_heads (tree, seq, at_ms, budget_count)
    SELECT t.tree, 0, 0, 0 FROM unnest(p_trees, p_from_seqs) AS t(tree, from_seq)
    WHERE t.from_seq = 0 AND (SELECT true FROM budgetd.projection_heads x WHERE x.tree = t.tree) IS NULL
    ON CONFLICT (tree) DO NOTHING;
  END IF;
  -- Locked in the order of the call, which is that of the trees' ids: see the caller.
  SELECT array_agg(coalesce(h.seq = t.from_seq, false) ORDER BY t.place),
    array_agg(CASE WHEN h.seq = t.from_seq THEN t.to_seq ELSE coalesce(h.seq, 0) END ORDER BY t.place)
  INTO v_moves, v_seqs
  FROM unnest(p_trees, p_from_seqs, p_to_seqs) WITH ORDINALITY AS t(tree, from_seq, to_seq, place)
  LEFT JOIN LATERAL (
    SELECT x.seq FROM budgetd.projection_heads x WHERE x.tree = t.tree FOR UPDATE OFFSET 0
  ) AS h ON true;

  IF cardinality(b_numbers) > 0 THEN
    INSERT INTO budgetd.budgets AS x
      (tree, budget_no, parent_no, path, uncapped, label_seq, close_after_ms, close_look_ms, def)
    SELECT p_trees[b_numbers[6 * i - 5]], b_numbers[6 * i - 4], b_numbers[6 * i - 3], b_texts[3 * i - 2],
      b_texts[3 * i - 1]::boolean, b_numbers[6 * i - 2], b_numbers[6 * i - 1], b_numbers[6 * i], b_texts[3 * i]::json
    FROM generate_series(1, cardinality(b_numbers) / 6) AS i
    WHERE v_moves[b_numbers[6 * i - 5]]
    ON CONFLICT (tree, budget_no) DO UPDATE
    SET uncapped = excluded.uncapped, label_seq = coalesce(excluded.label_seq, x.label_seq),
      close_after_ms = excluded.close_after_ms, close_look_ms = excluded.close_look_ms, def = excluded.def;
  END IF;

  IF cardinality(c_numbers) > 0 THEN
    INSERT INTO budgetd.counters AS x
      (tree, budget_no, window_no, period_ms, held_micros, settled_micros, overrun_micros, active_count,
        open_child_count, moved_ms)
    SELECT p_trees[c_numbers[10 * i - 9]], c_numbers[10 * i - 8], c_numbers[10 * i - 7], c_numbers[10 * i - 6],
      c_numbers[10 * i - 5], c_numbers[10 * i - 4], c_numbers[10 * i - 3], c_numbers[10 * i - 2],
      c_numbers[10 * i - 1], c_numbers[10 * i]
    FROM generate_series(1, cardinality(c_numbers) / 10) AS i
    WHERE v_moves[c_numbers[10 * i - 9]]
    ON CONFLICT (tree, budget_no, window_no, period_ms) DO UPDATE
    SET held_micros = x.held_micros + excluded.held_micros,
      settled_micros = x.settled_micros + excluded.settled_micros,
      overrun_micros = x.overrun_micros + excluded.overrun_micros,
      active_count = x.active_count + excluded.active_count,
      open_child_count = x.open_child_count + excluded.open_child_count,
      moved_ms = greatest(x.moved_ms, excluded.moved_ms);
  END IF;

  IF cardinality(l_numbers) > 0 THEN
    INSERT INTO budgetd.rate_levels AS x (tree, budget_no, rate_no, level, at_ms)
    SELECT p_trees[l_numbers[4 * i - 3]], l_numbers[4 * i - 2], l_numbers[4 * i - 1], l_levels[i], l_numbers[4 * i]
    FROM generate_series(1, cardinality(l_numbers) / 4) AS i
    WHERE v_moves[l_numbers[4 * i - 3]]
    ON CONFLICT (tree, budget_no, rate_no) DO UPDATE SET level = excluded.level, at_ms = excluded.at_ms;
  END IF;

  IF cardinality(a_numbers) > 0 THEN
    -- What a limit was told of in earlier periods stands no more.
    DELETE FROM budgetd.alerts x
    USING generate_series(1, cardinality(a_numbers) / 8) AS i
    CROSS JOIN LATERAL (
      SELECT y.ctid FROM budgetd.alerts y
      WHERE y.tree = p_trees[a_numbers[8 * i - 7]] AND y.budget_no = a_numbers[8 * i - 6]
        AND y.limit_no = a_numbers[8 * i - 5] AND y.period_ms < a_numbers[8 * i - 4] OFFSET 0
    ) AS found
    WHERE v_moves[a_numbers[8 * i - 7]] AND x.ctid = found.ctid;
    INSERT INTO budgetd.alerts AS x
      (tree, budget_no, limit_no, period_ms, percent, at_ms, used_micros, amount_micros)
    SELECT p_trees[a_numbers[8 * i - 7]], a_numbers[8 * i - 6], a_numbers[8 * i - 5], a_numbers[8 * i - 4],
      a_numbers[8 * i - 3], a_numbers[8 * i - 2], a_numbers[8 * i - 1], a_numbers[8 * i]
    FROM generate_series(1, cardinality(a_numbers) / 8) AS i
    WHERE v_moves[a_numbers[8 * i - 7]]
    ON CONFLICT (tree, budget_no, limit_no, period_ms, percent) DO UPDATE
    SET at_ms = excluded.at_ms, used_micros = excluded.used_micros, amount_micros = excluded.amount_micros;
  END IF;

  IF cardinality(w_numbers) > 0 THEN
    DELETE FROM budgetd.reservations x
    USING generate_series(1, cardinality(w_numbers)) AS i
    CROSS JOIN LATERAL (
      -- By its key alone: with the state beside it, the planner reads all that wait in the tree, for each row.
      SELECT y.ctid FROM budgetd.reservations y WHERE y.tree = p_trees[w_numbers[i]] AND y.id = w_texts[i] OFFSET 0
    ) AS found
    WHERE v_moves[w_numbers[i]] AND x.ctid = found.ctid AND x.state = 'QUEUED';
    GET DIAGNOSTICS v_count = ROW_COUNT;
    SELECT count(*) INTO v_wanted FROM unnest(w_numbers) AS w(place) WHERE v_moves[w.place];
    IF v_count <> v_wanted THEN
      RAISE EXCEPTION USING ERRCODE = 'BD003', MESSAGE = 'an entry grants a reservation that does not wait';
    END IF;
  END IF;

  IF r_new_count > 0 THEN
    INSERT INTO budgetd.reservations (
      tree, id, budget_no, accounts, also, create_ms, holder, grant_seq, label_seqs, state, outcome, late, estimated,
      started, requested_micros, granted_micros, held_micros, settled_micros, released_micros, overrun_micros, estimated_micros,
      lapsed_held_micros, expire_ms, reclaim_ms, ttl_ms, end_ms, renewal_count, release_reason, priority, alternative,
      shadow, price, priced)
    SELECT p_trees[r_numbers[17 * i - 16]], r_texts[3 * i - 2], g_numbers[3 * i - 2], g_texts[6 * i - 4]::bigint[],
      g_texts[6 * i - 3]::text[], g_numbers[3 * i - 1], g_texts[6 * i - 5], g_numbers[3 * i], r_texts[3 * i - 1]::bigint[],
      c_states[r_numbers[17 * i - 15]], c_outcomes[r_numbers[17 * i - 14]],
      r_numbers[17 * i - 13] & 1 <> 0, r_numbers[17 * i - 13] & 2 <> 0, r_numbers[17 * i - 13] & 4 <> 0,
      r_numbers[17 * i - 12], r_numbers[17 * i - 11], r_numbers[17 * i - 10], r_numbers[17 * i - 9],
      r_numbers[17 * i - 8], r_numbers[17 * i - 7], r_numbers[17 * i - 6], r_numbers[17 * i - 5],
      r_numbers[17 * i - 4], r_numbers[17 * i - 3], r_numbers[17 * i - 2], r_numbers[17 * i - 1],
      r_numbers[17 * i], r_texts[3 * i], g_texts[6 * i - 2], g_texts[6 * i - 1], g_texts[6 * i]::text[],
      p_texts[2 * i - 1]::json, p_texts[2 * i]::json
    FROM generate_series(1, r_new_count) AS i
    WHERE v_moves[r_numbers[17 * i - 16]];
  END IF;

  -- Not in the INSERT: what is never set costs nothing there.
  IF cardinality(q_numbers) > 0 THEN
    UPDATE budgetd.reservations x SET queue = q_texts[2 * i]::json
    FROM generate_series(1, cardinality(q_numbers)) AS i
    CROSS JOIN LATERAL (
      SELECT y.ctid FROM budgetd.reservations y WHERE y.tree = p_trees[q_numbers[i]] AND y.id = q_texts[2 * i - 1] OFFSET 0
    ) AS found
    WHERE v_moves[q_numbers[i]] AND x.ctid = found.ctid;
  END IF;

  IF cardinality(r_numbers) > 17 * r_new_count THEN
    UPDATE budgetd.reservations x
    SET state = c_states[r_numbers[17 * i - 15]], outcome = c_outcomes[r_numbers[17 * i - 14]],
      late = r_numbers[17 * i - 13] & 1 <> 0, estimated = r_numbers[17 * i - 13] & 2 <> 0,
      started = r_numbers[17 * i - 13] & 4 <> 0,
      requested_micros = r_numbers[17 * i - 12], granted_micros = r_numbers[17 * i - 11],
      held_micros = r_numbers[17 * i - 10], settled_micros = r_numbers[17 * i - 9],
      released_micros = r_numbers[17 * i - 8], overrun_micros = r_numbers[17 * i - 7],
      estimated_micros = r_numbers[17 * i - 6], lapsed_held_micros = r_numbers[17 * i - 5],
      expire_ms = r_numbers[17 * i - 4], reclaim_ms = r_numbers[17 * i - 3], ttl_ms = r_numbers[17 * i - 2],
      end_ms = r_numbers[17 * i - 1], renewal_count = r_numbers[17 * i], release_reason = r_texts[3 * i],
      label_seqs = x.label_seqs || r_texts[3 * i - 1]::bigint[],
      price = coalesce(p_texts[2 * i - 1]::json, x.price), priced = coalesce(p_texts[2 * i]::json, x.priced)
    FROM generate_series(r_new_count + 1, cardinality(r_numbers) / 17) AS i
    -- The row is found by its key first, then updated by its place: the planner has no other order to choose.
    CROSS JOIN LATERAL (
      SELECT y.ctid FROM budgetd.reservations y
      WHERE y.tree = p_trees[r_numbers[17 * i - 16]] AND y.id = r_texts[3 * i - 2] OFFSET 0
    ) AS found
    WHERE v_moves[r_numbers[17 * i - 16]] AND x.ctid = found.ctid;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    SELECT count(*) INTO v_wanted FROM generate_series(r_new_count + 1, cardinality(r_numbers) / 17) AS i
    WHERE v_moves[r_numbers[17 * i - 16]];
    IF v_count <> v_wanted THEN
      RAISE EXCEPTION USING ERRCODE = 'BD003', MESSAGE = 'an entry changes a reservation that is not projected';
    END IF;
  END IF;

  UPDATE budgetd.projection_heads x
  SET seq = t.to_seq, at_ms = t.at_ms, budget_count = greatest(x.budget_count, t.budget_count),
    next_reclaim_ms = least(
      (SELECT r.reclaim_ms FROM budgetd.reservations r
        WHERE r.tree = x.tree AND r.state = 'ACTIVE' ORDER BY r.reclaim_ms LIMIT 1),
      (SELECT (r.queue ->> 'until')::bigint FROM budgetd.reservations r
        WHERE r.tree = x.tree AND r.state = 'QUEUED' ORDER BY (r.queue ->> 'until')::bigint LIMIT 1))
  FROM unnest(p_trees, p_to_seqs, p_at_ms, p_budget_counts, v_moves) AS t(tree, to_seq, at_ms, budget_count, moves)
  CROSS JOIN LATERAL (
    SELECT y.ctid FROM budgetd.projection_heads y WHERE y.tree = t.tree OFFSET 0
  ) AS found
  WHERE t.moves AND x.ctid = found.ctid;
  RETURN v_seqs;
END $$;
