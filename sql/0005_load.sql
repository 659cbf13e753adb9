-- Everything that a decision needs of one tree, in one call and one snapshot: the functions are STABLE, so all their
-- statements see what the calling statement sees. Index lookups only, whatever the statistics say: OFFSET 0 keeps each
-- lookup a lookup, where the planner would make a join of it and scan a table that it believes to be small.

-- A reservation as the service reads it: one row. Amounts as text: JSON numbers past 2^53 are not exact in JavaScript. A set, so that a
-- query that asks for thousands makes it a part of itself: a call for each took three times as long.
CREATE FUNCTION budgetd.reservation_rows(r budgetd.reservations) RETURNS TABLE (record json)
LANGUAGE sql STABLE
BEGIN ATOMIC
  SELECT json_build_array(
    r.id, r.budget_no, r.accounts, r.create_ms, r.holder,
    (SELECT json_agg(json_build_array(CASE p.seq WHEN r.grant_seq THEN p.acting_for ELSE '' END, p.labels) ORDER BY p.seq) FROM budgetd.personal p
      WHERE p.tree = r.tree AND p.seq = ANY (r.grant_seq || r.label_seqs)),
    json_build_array(
      r.state, r.requested_micros::text, r.granted_micros::text, r.held_micros::text, r.settled_micros::text,
      r.released_micros::text, r.overrun_micros::text, r.estimated_micros::text, r.lapsed_held_micros::text,
      r.expire_ms, r.reclaim_ms, r.ttl_ms, r.end_ms, r.late::integer, r.estimated::integer, r.started::integer,
      r.outcome, r.release_reason, r.renewal_count),
    (SELECT json_build_array(b.path, b.def ->> 'unit') FROM budgetd.budgets b
      WHERE b.tree = r.tree AND b.budget_no = r.budget_no),
    r.also, r.priority, r.alternative, r.shadow, r.queue,
    CASE WHEN r.queue IS NOT NULL THEN (
      SELECT p.salt FROM budgetd.personal p WHERE p.tree = r.tree AND p.seq = r.grant_seq) END,
    r.price, r.priced);
END;

-- The same where a page of them is listed.
CREATE FUNCTION budgetd.reservation_json(r budgetd.reservations) RETURNS json
LANGUAGE sql STABLE
RETURN (SELECT j.record FROM budgetd.reservation_rows(r) AS j);

-- Rows of a budget's counters that a decision may need: the lifetime one, those of `p_periods` (rows of window and period),
-- and of each window that it has: the one period of a lifetime window (those that count a child apart have their own numbers);
-- the latest period of a calendar or range window; what a rolling one holds, and its steps that count at `p_at_ms` or later. `p_at_ms` null: none but those of `p_periods`.
CREATE FUNCTION budgetd.wanted_counters(b budgetd.budgets, p_periods bigint[], p_at_ms bigint)
RETURNS TABLE (window_no bigint, from_ms bigint, to_ms bigint, count_max bigint)
LANGUAGE sql STABLE
BEGIN ATOMIC
  SELECT 0, 0, 0, 1
  UNION ALL
  SELECT p_periods[i][1], p_periods[i][2], p_periods[i][2], 1 FROM generate_series(1, array_length(p_periods, 1)) AS i
  UNION ALL
  SELECT w.no, r.from_ms, r.to_ms, r.count_max
  FROM json_array_elements(b.def -> 'windows') AS e(def)
  CROSS JOIN LATERAL json_to_record(e.def) AS w(no bigint, kind text, "durationMs" bigint, "stepMs" bigint)
  CROSS JOIN LATERAL (
    SELECT 0, 9223372036854775807, 1 WHERE w.kind IN ('calendar', 'range')
    UNION ALL
    SELECT 0, 0, 1 WHERE w.kind = 'rolling' OR w.kind = 'lifetime' AND w.no > 0
    UNION ALL
    SELECT greatest(1, (p_at_ms - w."durationMs") / w."stepMs" * w."stepMs"), 9223372036854775807, NULL
    WHERE w.kind = 'rolling'
  ) AS r(from_ms, to_ms, count_max)
  WHERE p_at_ms IS NOT NULL;
END;

-- A budget with the counters that wanted_counters names, its counts, the levels of its rates and its marks of alerts.
CREATE FUNCTION budgetd.budget_json(b budgetd.budgets, p_periods bigint[], p_at_ms bigint) RETURNS json
LANGUAGE sql STABLE
RETURN json_build_array(
  b.def,
  (SELECT p.labels FROM budgetd.personal p WHERE p.tree = b.tree AND p.seq = b.label_seq),
  (SELECT json_agg(json_build_array(c.window_no, c.period_ms, c.held_micros::text, c.settled_micros::text,
      c.overrun_micros::text) ORDER BY c.window_no, c.period_ms)
    FROM (
      SELECT DISTINCT ON (k.window_no, k.period_ms) k.*
      FROM budgetd.wanted_counters(b, p_periods, p_at_ms) AS wanted
      CROSS JOIN LATERAL (
        SELECT x.* FROM budgetd.counters x
        WHERE x.tree = b.tree AND x.budget_no = b.budget_no AND x.window_no = wanted.window_no
          AND x.period_ms BETWEEN wanted.from_ms AND wanted.to_ms
        ORDER BY x.period_ms DESC LIMIT wanted.count_max
      ) AS k
    ) AS c),
  (SELECT json_build_array(c.active_count, c.open_child_count, c.moved_ms) FROM budgetd.counters c
    WHERE c.tree = b.tree AND c.budget_no = b.budget_no AND c.window_no = 0 AND c.period_ms = 0),
  (SELECT json_agg(json_build_array(l.rate_no, l.level::text, l.at_ms) ORDER BY l.rate_no) FROM budgetd.rate_levels l
    WHERE l.tree = b.tree AND l.budget_no = b.budget_no),
  (SELECT json_agg(json_build_array(a.limit_no, a.period_ms, a.percent) ORDER BY a.limit_no, a.period_ms, a.percent)
    FROM budgetd.alerts a WHERE a.tree = b.tree AND a.budget_no = b.budget_no));

-- What a row of the journal says of itself beside its entries: [first, last, milliseconds, hash before, hash].
CREATE FUNCTION budgetd.chain_json(j budgetd.journal) RETURNS json
LANGUAGE sql STABLE
RETURN json_build_array(
  j.first_seq, j.last_seq, budgetd.ms_of_at(j.at), encode(j.prev_hash, 'hex'), encode(j.hash, 'hex'));

-- Personal fields of these entries.
CREATE FUNCTION budgetd.personal_json(p_tree text, p_seqs bigint[]) RETURNS json
LANGUAGE sql STABLE
RETURN (
  SELECT json_agg(json_build_array(p.seq, p.salt, p.acting_for, p.labels))
  FROM unnest(p_seqs) AS wanted(seq)
  CROSS JOIN LATERAL (
    SELECT x.* FROM budgetd.personal x WHERE x.tree = p_tree AND x.seq = wanted.seq OFFSET 0
  ) AS p);

-- Entries that follow the projection come along where there are no more than `p_tail_count_max` of them, and with them (unless that
-- is 0) everything that waits, with the budgets on all paths that it names: they may have come after it. `p_periods`: flat of budget number, window number and period, beside those that the reservations name.
CREATE FUNCTION budgetd.load_tree(
  p_tree text, p_paths text[], p_ids text[], p_periods bigint[], p_after_reclaim_ms bigint, p_lease_count_max integer,
  p_tail_count_max bigint
) RETURNS TABLE (
  head_seq bigint, head_hash bytea, head_at_ms bigint, projected_seq bigint, budget_count integer, quarantine text,
  budgets json, reservations json, leases_through_ms bigint, tail text, tail_chain json, tail_personal json
)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
  v_projected_at_ms bigint;
  v_lease_ids text[] := '{}';
  v_queued_ids text[] := '{}';
  v_queued_paths text[] := '{}';
  v_accounts bigint[];
BEGIN
  SELECT h.seq, h.hash, h.at_ms INTO head_seq, head_hash, head_at_ms
  FROM budgetd.tree_heads h WHERE h.tree = p_tree;
  SELECT p.seq, p.at_ms, p.budget_count INTO projected_seq, v_projected_at_ms, budget_count
  FROM budgetd.projection_heads p WHERE p.tree = p_tree;
  SELECT q.reason INTO quarantine FROM budgetd.quarantine q WHERE q.tree = p_tree;

  IF p_lease_count_max > 0 THEN
    -- WITH TIES: the next page begins after an instant, so a page holds all leases of its last instant.
    SELECT coalesce(array_agg(l.id), '{}'), max(l.reclaim_ms) FILTER (WHERE l.place >= p_lease_count_max)
    INTO v_lease_ids, leases_through_ms
    FROM (
      SELECT r.id, r.reclaim_ms, row_number() OVER (ORDER BY r.reclaim_ms) AS place
      FROM budgetd.reservations r
      WHERE r.tree = p_tree AND r.state = 'ACTIVE' AND r.reclaim_ms > p_after_reclaim_ms
      ORDER BY r.reclaim_ms FETCH FIRST p_lease_count_max ROWS WITH TIES
    ) AS l;
  END IF;

  IF p_tail_count_max > 0 THEN
    SELECT coalesce(array_agg(r.id), '{}') INTO v_queued_ids
    FROM budgetd.reservations r WHERE r.tree = p_tree AND r.state = 'QUEUED';
    -- Thousands wait on a few paths: they are taken apart once.
    SELECT coalesce(array_agg(DISTINCT w.path), '{}') INTO v_queued_paths
    FROM (
      SELECT DISTINCT r.queue ->> 'path' AS path, r.also
      FROM unnest(v_queued_ids) AS wanted(id)
      CROSS JOIN LATERAL (
        SELECT x.queue, x.also FROM budgetd.reservations x WHERE x.tree = p_tree AND x.id = wanted.id OFFSET 0
      ) AS r
    ) AS named
    CROSS JOIN LATERAL unnest(budgetd.waited_paths(json_build_object('path', named.path), named.also)) AS w(path);
  END IF;

  IF cardinality(p_ids) > 0 OR cardinality(v_lease_ids) > 0 OR cardinality(v_queued_ids) > 0 THEN
    SELECT json_agg(j.record) INTO reservations
    FROM (SELECT DISTINCT id FROM unnest(p_ids || v_lease_ids || v_queued_ids) AS i(id)) AS wanted
    CROSS JOIN LATERAL (
      SELECT x.* FROM budgetd.reservations x WHERE x.tree = p_tree AND x.id = wanted.id OFFSET 0
    ) AS r
    CROSS JOIN LATERAL budgetd.reservation_rows(r) AS j;
    SELECT array_agg(DISTINCT ARRAY[r.accounts[i], r.accounts[i + 1], r.accounts[i + 2]]) INTO v_accounts
    FROM (
      SELECT DISTINCT x.accounts
      FROM unnest(p_ids || v_lease_ids || v_queued_ids) AS wanted(id)
      CROSS JOIN LATERAL (
        SELECT y.accounts FROM budgetd.reservations y WHERE y.tree = p_tree AND y.id = wanted.id OFFSET 0
      ) AS x
    ) AS r
    CROSS JOIN LATERAL generate_series(1, cardinality(r.accounts), 3) AS i;
  END IF;

  SELECT json_agg(budgetd.budget_json(b, wanted.periods, v_projected_at_ms)) INTO budgets
  FROM (
    SELECT u.budget_no, array_agg(ARRAY[u.window_no, u.period_ms]) AS periods
    FROM (
      SELECT x.budget_no::bigint, 0::bigint AS window_no, 0::bigint AS period_ms
      FROM unnest(p_paths || v_queued_paths) AS p(path)
      CROSS JOIN LATERAL (
        SELECT y.budget_no FROM budgetd.budgets y WHERE y.tree = p_tree AND y.path = p.path OFFSET 0
      ) AS x
      UNION
      SELECT v_accounts[i][1], v_accounts[i][2], v_accounts[i][3]
      FROM generate_series(1, array_length(v_accounts, 1)) AS i
      UNION
      SELECT p_periods[i], p_periods[i + 1], p_periods[i + 2] FROM generate_series(1, cardinality(p_periods), 3) AS i
    ) AS u
    GROUP BY u.budget_no
  ) AS wanted
  CROSS JOIN LATERAL (
    SELECT x.* FROM budgetd.budgets x WHERE x.tree = p_tree AND x.budget_no = wanted.budget_no OFFSET 0
  ) AS b;

  IF head_seq - coalesce(projected_seq, 0) BETWEEN 1 AND p_tail_count_max THEN
    SELECT string_agg(j.entries, E'\n' ORDER BY j.last_seq), json_agg(budgetd.chain_json(j) ORDER BY j.last_seq)
    INTO tail, tail_chain
    FROM budgetd.journal j
    WHERE j.tree = p_tree AND j.last_seq > coalesce(projected_seq, 0)
      AND j.at >= coalesce(budgetd.at_of_ms(v_projected_at_ms), '-infinity');
    SELECT json_agg(json_build_array(p.seq, p.salt, p.acting_for, p.labels)) INTO tail_personal
    FROM budgetd.personal p
    WHERE p.tree = p_tree AND p.seq > coalesce(projected_seq, 0);
  END IF;
  RETURN NEXT;
END $$;

-- Rows of the journal that hold the entries of these keys, each row once and whole, with the sequences that are meant:
-- to take an entry out of a row costs as much as to read the row. `p_digests`: 16 bytes each; those that are not known are
-- left out. Stops after `p_byte_count_max` bytes of rows, at least one: `is_last` is then false in all of them.
CREATE FUNCTION budgetd.find_keys(p_tree text, p_digests bytea, p_byte_count_max bigint)
RETURNS TABLE (seqs json, entries text, chain json, personal json, is_last boolean)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  v_key record;
  v_row budgetd.journal;
  v_seqs bigint[] := '{}';
  v_last_seq bigint := 0;
  v_byte_count bigint := 0;
BEGIN
  is_last := false;
  FOR v_key IN
    SELECT k.seq, k.at
    FROM generate_series(1, octet_length(p_digests), 16) AS d(start)
    CROSS JOIN LATERAL (
      SELECT x.seq, x.at FROM budgetd.idempotency_keys x
      WHERE x.tree = p_tree AND x.digest = substr(p_digests, d.start, 16) OFFSET 0
    ) AS k
    ORDER BY k.seq
  LOOP
    IF v_key.seq > v_last_seq THEN
      IF cardinality(v_seqs) > 0 THEN
        seqs := array_to_json(v_seqs);
        personal := budgetd.personal_json(p_tree, v_seqs);
        RETURN NEXT;
        v_seqs := '{}';
        IF v_byte_count >= p_byte_count_max THEN
          RETURN;
        END IF;
      END IF;
      -- The time of the key leads to its partition; the sequence to the row.
      SELECT x.* INTO v_row FROM budgetd.journal x
      WHERE x.tree = p_tree AND x.last_seq >= v_key.seq AND x.at = v_key.at ORDER BY x.last_seq LIMIT 1;
      CONTINUE WHEN NOT FOUND;
      entries := v_row.entries;
      chain := budgetd.chain_json(v_row);
      v_last_seq := v_row.last_seq;
      v_byte_count := v_byte_count + octet_length(entries);
    END IF;
    v_seqs := v_seqs || v_key.seq;
  END LOOP;
  IF cardinality(v_seqs) > 0 THEN
    seqs := array_to_json(v_seqs);
    personal := budgetd.personal_json(p_tree, v_seqs);
    is_last := true;
    RETURN NEXT;
  END IF;
END $$;

-- Whole rows after a sequence until they hold about `p_count_max` entries, at least one row, with personal fields.
CREATE FUNCTION budgetd.read_entries(p_tree text, p_after_seq bigint, p_count_max bigint)
RETURNS TABLE (entries text, chain json, personal json)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  v_last_seq bigint;
BEGIN
  SELECT greatest(j.last_seq, p_after_seq + p_count_max) INTO v_last_seq
  FROM budgetd.journal j WHERE j.tree = p_tree AND j.last_seq > p_after_seq ORDER BY j.last_seq LIMIT 1;
  SELECT string_agg(j.entries, E'\n' ORDER BY j.last_seq), json_agg(budgetd.chain_json(j) ORDER BY j.last_seq)
  INTO entries, chain
  FROM budgetd.journal j WHERE j.tree = p_tree AND j.last_seq > p_after_seq AND j.last_seq <= v_last_seq;
  SELECT json_agg(json_build_array(p.seq, p.salt, p.acting_for, p.labels)) INTO personal
  FROM budgetd.personal p WHERE p.tree = p_tree AND p.seq > p_after_seq AND p.seq <= v_last_seq;
  RETURN NEXT;
END $$;

-- Trees whose projection is behind their journal, among the next `p_scan_count` trees after one, in order; `projected_seq` is
-- null for a tree that is only told because it was the last one looked at. A step costs the same however many trees there
-- are: both tables are read in the order of their keys and merged.
CREATE FUNCTION budgetd.unprojected_trees(p_after text, p_scan_count integer)
RETURNS TABLE (tree text, projected_seq bigint, is_last boolean)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_nestloop = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
    SELECT s.tree,
      CASE WHEN s.is_behind AND (SELECT true FROM budgetd.quarantine q WHERE q.tree = s.tree) IS NULL
        THEN s.projected_seq END,
      s.place = p_scan_count
    FROM (
      SELECT h.tree, coalesce(p.seq, 0) AS projected_seq, h.seq > coalesce(p.seq, 0) AS is_behind,
        row_number() OVER (ORDER BY h.tree) AS place
      FROM (
        SELECT x.tree, x.seq FROM budgetd.tree_heads x WHERE x.tree > p_after ORDER BY x.tree LIMIT p_scan_count
      ) AS h
      LEFT JOIN (SELECT x.tree, x.seq FROM budgetd.projection_heads x WHERE x.tree > p_after) AS p ON p.tree = h.tree
    ) AS s
    WHERE s.is_behind OR s.place = p_scan_count;
END $$;
