-- How long there was no leader before the present one: holds whose leases ran out meanwhile get one more grace.

-- renewed_at: the holder was alive then. led_at: when this epoch began. gap_from: when a leader was last known to serve
-- before it, so that (gap_from, led_at] is the time without one.
ALTER TABLE budgetd.writer_lease
  ADD COLUMN renewed_at timestamptz NOT NULL DEFAULT now(),
  ADD COLUMN led_at timestamptz NOT NULL DEFAULT '-infinity',
  ADD COLUMN gap_from timestamptz NOT NULL DEFAULT now();

DROP FUNCTION budgetd.hold_writer_lease(text, text, bigint, bigint);

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
    SELECT w.epoch, w.address, v_held, budgetd.ms_of_at(clock_timestamp()),
      CASE WHEN isfinite(w.expire_at) THEN budgetd.ms_of_at(w.expire_at) ELSE 0 END,
      CASE WHEN isfinite(w.led_at) THEN budgetd.ms_of_at(w.led_at) - budgetd.ms_of_at(w.gap_from) ELSE 0 END
    FROM budgetd.writer_lease w;
END $$;
