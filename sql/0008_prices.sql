-- The price book: rows, other names of models, what units are worth, ends of rows, and imports of a catalogue. Append-only as the
-- journal is, twice over. Prices belong to no tree: every tree is priced by one book, which is read whole.

-- One shape for all. `body` is what the record means, as the text that its hash is over, kept byte for byte: whoever doubts a
-- price recomputes it. Who added it and when are not in it, so that the same record is the same however often it is added.
CREATE FUNCTION budgetd.price_hash(p_body text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN translate(encode(sha256(convert_to(p_body, 'UTF8')), 'base64'), '+/=', '-_');

CREATE TABLE budgetd.price_rows (
  hash text COLLATE "C" PRIMARY KEY,
  body text COLLATE "C" NOT NULL CHECK (hash = budgetd.price_hash(body)),
  origin text NOT NULL CHECK (origin IN ('operator', 'catalogue')),
  added_by text NOT NULL,
  added_ms bigint NOT NULL
);
CREATE TABLE budgetd.price_aliases (LIKE budgetd.price_rows INCLUDING ALL);
CREATE TABLE budgetd.unit_rows (LIKE budgetd.price_rows INCLUDING ALL);
CREATE TABLE budgetd.price_retirements (LIKE budgetd.price_rows INCLUDING ALL);
CREATE TABLE budgetd.price_imports (LIKE budgetd.price_rows INCLUDING ALL);

CREATE FUNCTION budgetd.refuse_price_change() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING
    ERRCODE = 'BD010',
    MESSAGE = format('prices are append-only: %s on %s is refused', TG_OP, TG_TABLE_NAME),
    HINT = 'Add a newer row, or a retirement.';
END $$;

DO $$
DECLARE
  v_table text;
BEGIN
  FOREACH v_table IN ARRAY ARRAY['price_rows', 'price_aliases', 'unit_rows', 'price_retirements', 'price_imports'] LOOP
    EXECUTE format('CREATE TRIGGER prices_append_only BEFORE UPDATE OR DELETE ON budgetd.%I
      FOR EACH ROW EXECUTE FUNCTION budgetd.refuse_price_change()', v_table);
    EXECUTE format('CREATE TRIGGER prices_no_truncate BEFORE TRUNCATE ON budgetd.%I
      FOR EACH STATEMENT EXECUTE FUNCTION budgetd.refuse_price_change()', v_table);
    EXECUTE format('GRANT SELECT, INSERT ON budgetd.%I TO budgetd_service', v_table);
  END LOOP;
END $$;

-- All records of all kinds: the book is read in one statement, so in one snapshot.
CREATE VIEW budgetd.price_records AS
  SELECT 'row' AS kind, hash, body, origin, added_by, added_ms FROM budgetd.price_rows
  UNION ALL SELECT 'alias', hash, body, origin, added_by, added_ms FROM budgetd.price_aliases
  UNION ALL SELECT 'unit_row', hash, body, origin, added_by, added_ms FROM budgetd.unit_rows
  UNION ALL SELECT 'retirement', hash, body, origin, added_by, added_ms FROM budgetd.price_retirements
  UNION ALL SELECT 'import', hash, body, origin, added_by, added_ms FROM budgetd.price_imports;

-- For people: one line a row, in micro-dollars per million tokens.
CREATE VIEW budgetd.price_list AS
SELECT r.b ->> 2 AS provider, r.b ->> 3 AS model, r.origin, budgetd.at_of_ms((r.b ->> 4)::bigint) AS effective_from,
  (r.b ->> 6)::bigint AS above_input_tokens, (r.b -> 8 ->> 0)::bigint AS input_rate, (r.b -> 8 ->> 1)::bigint AS output_rate,
  r.b ->> 10 AS mark, r.b ->> 12 AS source, r.added_by, budgetd.at_of_ms(r.added_ms) AS added_at, r.hash
FROM (SELECT hash, origin, added_by, added_ms, body::json AS b FROM budgetd.price_rows) AS r;

-- Adds records under an epoch, as append_batch does (BD001: another epoch rules): a writer that was replaced adds nothing. Records
-- that are there stay as they are. One text an argument, a JSON array of objects: imports bring thousands, once a version.
CREATE FUNCTION budgetd.add_prices(p_epoch bigint, p_records text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  v_records json := p_records::json;
BEGIN
  PERFORM FROM budgetd.writer_lease w WHERE w.epoch = p_epoch FOR KEY SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'BD001', MESSAGE = format('epoch %s is not the ruling one', p_epoch);
  END IF;
  INSERT INTO budgetd.price_rows
    SELECT x.hash, x.body, x.origin, x.added_by, x.added_ms
    FROM json_to_recordset(v_records) AS x(kind text, hash text, body text, origin text, added_by text, added_ms bigint)
    WHERE x.kind = 'row' ON CONFLICT DO NOTHING;
  INSERT INTO budgetd.price_aliases
    SELECT x.hash, x.body, x.origin, x.added_by, x.added_ms
    FROM json_to_recordset(v_records) AS x(kind text, hash text, body text, origin text, added_by text, added_ms bigint)
    WHERE x.kind = 'alias' ON CONFLICT DO NOTHING;
  INSERT INTO budgetd.unit_rows
    SELECT x.hash, x.body, x.origin, x.added_by, x.added_ms
    FROM json_to_recordset(v_records) AS x(kind text, hash text, body text, origin text, added_by text, added_ms bigint)
    WHERE x.kind = 'unit_row' ON CONFLICT DO NOTHING;
  INSERT INTO budgetd.price_retirements
    SELECT x.hash, x.body, x.origin, x.added_by, x.added_ms
    FROM json_to_recordset(v_records) AS x(kind text, hash text, body text, origin text, added_by text, added_ms bigint)
    WHERE x.kind = 'retirement' ON CONFLICT DO NOTHING;
  INSERT INTO budgetd.price_imports
    SELECT x.hash, x.body, x.origin, x.added_by, x.added_ms
    FROM json_to_recordset(v_records) AS x(kind text, hash text, body text, origin text, added_by text, added_ms bigint)
    WHERE x.kind = 'import' ON CONFLICT DO NOTHING;
END $$;

GRANT SELECT ON budgetd.price_records, budgetd.price_list TO budgetd_service;
