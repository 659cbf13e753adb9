-- What a reader of the journal needs to see that its rows are as they were written.

-- First and last sequence, milliseconds, hash before and hash of the first rows after a sequence, in order.
CREATE FUNCTION budgetd.journal_chain(p_tree text, p_after_seq bigint, p_row_count bigint) RETURNS json
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
  RETURN (
    SELECT json_agg(json_build_array(r.first_seq, r.last_seq, r.at_ms, r.prev_hash, r.hash) ORDER BY r.last_seq)
    FROM (
      SELECT j.first_seq, j.last_seq, budgetd.ms_of_at(j.at) AS at_ms,
        encode(j.prev_hash, 'hex') AS prev_hash, encode(j.hash, 'hex') AS hash
      FROM budgetd.journal j
      WHERE j.tree = p_tree AND j.last_seq > p_after_seq ORDER BY j.last_seq LIMIT p_row_count
    ) AS r);
END $$;
