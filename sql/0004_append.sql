-- The one statement that commits a batch. It runs at SERIALIZABLE, in its own transaction, and writes the journal, heads,
-- keys and personal fields: all of it or nothing.
--   BD001  another epoch rules        BD002  a head has moved        23505 on idempotency_keys  a key is known already
-- Heads come before keys: a batch that had been committed already must be told by its heads.
-- p_hashes: 64 bytes a tree, the hash before and the hash after. p_entries: the trees' texts, joined by newlines, which
-- JSON text as written here never contains. p_key_digests: 16 bytes a key; p_key_trees: its tree's place, from 1.
-- No statement here leaves the planner a choice but an index: ON CONFLICT looks its row up by its key, and a scalar
-- subquery is never turned into a join. Statistics of a fresh table would make it scan.
-- A batch of one tree that exists is what a busy tree and a caller alone send: without the row sets that several trees need it
-- costs a tenth less.
CREATE FUNCTION budgetd.append_batch(
  p_epoch bigint, p_trees text[], p_prev_seqs bigint[], p_last_seqs bigint[], p_at_ms bigint[], p_hashes bytea,
  p_entries text, p_key_trees integer[], p_key_seqs bigint[], p_key_digests bytea, p_personal text
) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  v_count bigint;
  v_at timestamptz;
BEGIN
  PERFORM FROM budgetd.writer_lease w WHERE w.epoch = p_epoch FOR KEY SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'BD001', MESSAGE = format('epoch %s is not the ruling one', p_epoch);
  END IF;
  IF cardinality(p_trees) = 0 THEN
    RETURN;
  END IF;

  IF cardinality(p_trees) = 1 AND p_prev_seqs[1] > 0 THEN
    UPDATE budgetd.tree_heads h
    SET seq = p_last_seqs[1], hash = substr(p_hashes, 33, 32), at_ms = p_at_ms[1], prev_seq = h.seq, prev_hash = h.hash
    WHERE h.tree = p_trees[1] AND h.seq = p_prev_seqs[1] AND h.hash = substr(p_hashes, 1, 32);
    IF NOT FOUND THEN
      RAISE EXCEPTION USING ERRCODE = 'BD002', MESSAGE = 'the head of a tree has moved';
    END IF;
    v_at := budgetd.at_of_ms(p_at_ms[1]);
    INSERT INTO budgetd.journal (tree, first_seq, last_seq, at, epoch, prev_hash, hash, entries)
    VALUES (p_trees[1], p_prev_seqs[1] + 1, p_last_seqs[1], v_at, p_epoch, substr(p_hashes, 1, 32),
      substr(p_hashes, 33, 32), p_entries);
    IF cardinality(p_key_seqs) > 0 THEN
      INSERT INTO budgetd.idempotency_keys (tree, digest, seq, at)
      SELECT p_trees[1], substr(p_key_digests, 16 * i - 15, 16), p_key_seqs[i], v_at
      FROM generate_series(1, cardinality(p_key_seqs)) AS i;
    END IF;
  ELSE
    INSERT INTO budgetd.tree_heads AS h (tree, seq, hash, at_ms, prev_seq, prev_hash)
    SELECT t.tree, t.last_seq, substr(p_hashes, 64 * t.place::integer - 31, 32), t.at_ms,
      t.prev_seq, substr(p_hashes, 64 * t.place::integer - 63, 32)
    FROM unnest(p_trees, p_last_seqs, p_at_ms, p_prev_seqs) WITH ORDINALITY AS t(tree, last_seq, at_ms, prev_seq, place)
    WHERE t.prev_seq = coalesce((SELECT x.seq FROM budgetd.tree_heads x WHERE x.tree = t.tree), 0)
    ON CONFLICT (tree) DO UPDATE
    SET seq = excluded.seq, hash = excluded.hash, at_ms = excluded.at_ms,
      prev_seq = excluded.prev_seq, prev_hash = excluded.prev_hash
    WHERE h.seq = excluded.prev_seq AND h.hash = excluded.prev_hash;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    IF v_count <> cardinality(p_trees) THEN
      RAISE EXCEPTION USING ERRCODE = 'BD002', MESSAGE = 'the head of a tree has moved';
    END IF;
    INSERT INTO budgetd.journal (tree, first_seq, last_seq, at, epoch, prev_hash, hash, entries)
    SELECT t.tree, t.prev_seq + 1, t.last_seq, budgetd.at_of_ms(t.at_ms), p_epoch,
      substr(p_hashes, 64 * t.place::integer - 63, 32), substr(p_hashes, 64 * t.place::integer - 31, 32), t.entries
    FROM unnest(p_trees, p_prev_seqs, p_last_seqs, p_at_ms, string_to_array(p_entries, E'\n'))
      WITH ORDINALITY AS t(tree, prev_seq, last_seq, at_ms, entries, place);
    IF cardinality(p_key_trees) > 0 THEN
      INSERT INTO budgetd.idempotency_keys (tree, digest, seq, at)
      SELECT p_trees[k.tree_place], substr(p_key_digests, 16 * k.place::integer - 15, 16), k.seq,
        budgetd.at_of_ms(p_at_ms[k.tree_place])
      FROM unnest(p_key_trees, p_key_seqs) WITH ORDINALITY AS k(tree_place, seq, place);
    END IF;
  END IF;

  IF p_personal IS NOT NULL THEN
    INSERT INTO budgetd.personal (tree, seq, salt, acting_for, labels)
    SELECT p_trees[x.tree_place], x.seq, x.salt, x.acting_for, x.labels
    FROM json_to_recordset(p_personal::json)
      AS x(tree_place integer, seq bigint, salt text, acting_for text, labels jsonb);
  END IF;
END $$;
