-- Tables that readers query. All of them can be dropped and rebuilt from the journal.

-- How far each tree is projected. next_reclaim_ms: the earliest reclaim time among its live reservations, so that the
-- reaper finds due trees without looking at reservations; or the earliest end of a wait, where that is earlier. at_ms: time of the projected entry; the tail is not older.
CREATE TABLE budgetd.projection_heads (
  tree text COLLATE "C" PRIMARY KEY,
  seq bigint NOT NULL,
  at_ms bigint NOT NULL,
  budget_count integer NOT NULL,
  next_reclaim_ms bigint
) WITH (fillfactor = 50);
CREATE INDEX projection_heads_due ON budgetd.projection_heads (next_reclaim_ms, tree) WHERE next_reclaim_ms IS NOT NULL;

-- path_key sorts by segments, parents before children: '/' itself would sort behind '-' and '.'.
-- label_seq: the entry whose personal fields hold the labels. close_after_ms: of an open budget that closes by age, else null;
-- close_look_ms: it can't be idle for so long before then, so nobody looks at it. Whoever looks in vain moves it on.
CREATE TABLE budgetd.budgets (
  tree text COLLATE "C" NOT NULL,
  budget_no integer NOT NULL,
  parent_no integer,
  path text COLLATE "C" NOT NULL,
  path_key text COLLATE "C" NOT NULL GENERATED ALWAYS AS (replace(path, '/', E'\x01')) STORED,
  uncapped boolean NOT NULL,
  label_seq bigint,
  close_after_ms bigint,
  close_look_ms bigint,
  def json NOT NULL,
  PRIMARY KEY (tree, budget_no),
  UNIQUE (tree, path),
  UNIQUE (tree, path_key)
);
CREATE INDEX budgets_children ON budgetd.budgets (tree, parent_no, path_key);
CREATE INDEX budgets_roots ON budgetd.budgets (tree) WHERE parent_no IS NULL;
CREATE INDEX budgets_uncapped ON budgetd.budgets (tree) WHERE parent_no IS NULL AND uncapped;

CREATE INDEX budgets_closing ON budgetd.budgets (close_look_ms, tree, budget_no) WHERE close_look_ms IS NOT NULL;

-- Sums per budget, window and period. What settled in a rolling window has a row for each step, with the step's first
-- millisecond as its period; what it holds has period 0. Kept with the lifetime window (number 0), and 0 elsewhere:
-- active_count, open_child_count (budgets right below that are not closed), moved_ms (the last move of any of the budget's rows).
CREATE TABLE budgetd.counters (
  tree text COLLATE "C" NOT NULL,
  budget_no integer NOT NULL,
  window_no integer NOT NULL,
  period_ms bigint NOT NULL,
  held_micros bigint NOT NULL,
  settled_micros bigint NOT NULL,
  overrun_micros bigint NOT NULL,
  active_count bigint NOT NULL,
  open_child_count bigint NOT NULL,
  moved_ms bigint NOT NULL,
  PRIMARY KEY (tree, budget_no, window_no, period_ms)
) WITH (fillfactor = 50);

-- How full each rate was after its last use, in units x milliseconds, which may pass int64. One that was not used has no row.
CREATE TABLE budgetd.rate_levels (
  tree text COLLATE "C" NOT NULL,
  budget_no integer NOT NULL,
  rate_no integer NOT NULL,
  level numeric NOT NULL,
  at_ms bigint NOT NULL,
  PRIMARY KEY (tree, budget_no, rate_no)
) WITH (fillfactor = 50);

-- Shares of limits that spend reached, in percent of the amount, each as it was told last: in a rolling window, whose period is 0,
-- it may be told again. Decisions go by them, so only those of the latest period that a limit was told of stand here; the
-- journal has the others.
CREATE TABLE budgetd.alerts (
  tree text COLLATE "C" NOT NULL,
  budget_no integer NOT NULL,
  limit_no integer NOT NULL,
  period_ms bigint NOT NULL,
  percent integer NOT NULL,
  at_ms bigint NOT NULL,
  used_micros bigint NOT NULL,
  amount_micros bigint NOT NULL,
  PRIMARY KEY (tree, budget_no, limit_no, period_ms, percent)
);

-- accounts: flat triples of budget number, window number and period, root first. also: more budgets that were named to be
-- charged; null: none. grant_seq: the entry that granted it. label_seqs: later entries with labels, laid over those of the grant.
-- priority: null: normal. alternative: the one that was granted; null: what was asked for first. shadow: mode, reason and budget
-- where a mode made a grant of a refusal; null: none. queue: of one that waits, or left the queue ungranted: what it is judged
-- with, and the path that it names, since budget_no is then that of the nearest budget that there was; grant_seq is the entry
-- that put it into the queue. Null: granted. price: what a model call was priced by; null: it was asked for by amount. priced: what the
-- usage that was reported last came to; null: none was.
CREATE TABLE budgetd.reservations (
  tree text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  budget_no integer NOT NULL,
  accounts bigint[] NOT NULL,
  also text[] COLLATE "C",
  create_ms bigint NOT NULL,
  holder text NOT NULL,
  grant_seq bigint NOT NULL,
  label_seqs bigint[],
  state text COLLATE "C" NOT NULL CHECK (state IN ('QUEUED', 'ACTIVE', 'SETTLED', 'RELEASED', 'EXPIRED')),
  requested_micros bigint NOT NULL,
  granted_micros bigint NOT NULL,
  held_micros bigint NOT NULL,
  settled_micros bigint NOT NULL,
  released_micros bigint NOT NULL,
  overrun_micros bigint NOT NULL,
  estimated_micros bigint NOT NULL,
  lapsed_held_micros bigint NOT NULL,
  expire_ms bigint NOT NULL,
  reclaim_ms bigint NOT NULL,
  ttl_ms bigint NOT NULL,
  renewal_count bigint NOT NULL,
  end_ms bigint,
  late boolean NOT NULL,
  estimated boolean NOT NULL,
  started boolean NOT NULL,
  outcome text COLLATE "C",
  release_reason text NOT NULL,
  priority text COLLATE "C",
  alternative text,
  shadow text[] COLLATE "C",
  queue json,
  price json,
  priced json,
  PRIMARY KEY (tree, id)
) WITH (fillfactor = 85);
CREATE INDEX reservations_live ON budgetd.reservations (tree, reclaim_ms) WHERE state = 'ACTIVE';
-- Lists of what is live go by id; one index can't serve both orders. It costs a row that is written while it is live 1.6 us
-- of 9, and one that has ended before it is written nothing.
CREATE INDEX reservations_active ON budgetd.reservations (tree, id) WHERE state = 'ACTIVE';
-- Times come along so that sums over a budget's past can leave most of its rows unread.
CREATE INDEX reservations_by_budget ON budgetd.reservations (tree, budget_no, id) INCLUDE (create_ms, end_ms);
-- Those that charge budgets off their own path: sums over a budget's past find them nowhere else.
CREATE INDEX reservations_also ON budgetd.reservations (tree, id) INCLUDE (create_ms, end_ms) WHERE also IS NOT NULL;

-- Lapsed ones that settle in parts: when each part came is not known. Few, and few at a time.
CREATE INDEX reservations_late ON budgetd.reservations (tree, id) WHERE late AND state = 'EXPIRED';

-- Paths that one that waits is counted at, as the coordinator counts it: each path that it names, and those above. Budgets may come to
-- be there after it, or never.
CREATE FUNCTION budgetd.waited_paths(p_queue json, p_also text[]) RETURNS text[]
LANGUAGE sql IMMUTABLE
RETURN ARRAY(
  SELECT DISTINCT array_to_string(s.parts[:depth], '/') COLLATE "C"
  FROM unnest(ARRAY[p_queue ->> 'path'] || p_also) AS n(path)
  CROSS JOIN LATERAL (SELECT string_to_array(n.path, '/') AS parts) AS s
  CROSS JOIN LATERAL generate_series(1, cardinality(s.parts)) AS depth);

-- What waits: by id for lists, by the end of its wait for the reaper, and by every path that it is counted at, whose first segment is
-- its tree. Lists find it by what it names. The last one says its state in a way of its own: no other index then seems to serve what
-- is asked of it, whatever the statistics say. It keeps no list of what came last, which each look would have to go through.
CREATE INDEX reservations_queued ON budgetd.reservations (tree, id) WHERE state = 'QUEUED';
CREATE INDEX reservations_waiting ON budgetd.reservations (tree, ((queue ->> 'until')::bigint)) WHERE state = 'QUEUED';
CREATE INDEX reservations_named ON budgetd.reservations
  (tree, budget_no, (replace(queue ->> 'path', '/', E'\x01') COLLATE "C")) WHERE queue IS NOT NULL;
CREATE INDEX reservations_waited ON budgetd.reservations USING gin ((budgetd.waited_paths(queue, also)) COLLATE "C")
  WITH (fastupdate = off) WHERE starts_with(state, 'QUEUED');

GRANT SELECT, INSERT, UPDATE, DELETE
  ON budgetd.projection_heads, budgetd.budgets, budgetd.counters, budgetd.rate_levels, budgetd.alerts,
  budgetd.reservations
  TO budgetd_service;
