BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0001');
CREATE TABLE compactions (
	repository VARCHAR NOT NULL, 
	pull INTEGER NOT NULL, 
	"commit" VARCHAR NOT NULL, 
	at FLOAT NOT NULL, 
	PRIMARY KEY (repository)
);
INSERT INTO "compactions" VALUES('acme/widget',1,'x',1.0);
CREATE TABLE counters (
	name VARCHAR NOT NULL, 
	value BIGINT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "counters" VALUES('deliveries.rejected.401',3);
CREATE TABLE daily_spending (
	day INTEGER NOT NULL, 
	repository VARCHAR NOT NULL, 
	role VARCHAR NOT NULL, 
	provider VARCHAR NOT NULL, 
	model VARCHAR NOT NULL, 
	calls BIGINT NOT NULL, 
	failed BIGINT NOT NULL, 
	retries BIGINT NOT NULL, 
	tokens_in BIGINT NOT NULL, 
	tokens_out BIGINT NOT NULL, 
	tokens_cached BIGINT NOT NULL, 
	cost_microdollars BIGINT NOT NULL, 
	PRIMARY KEY (day, repository, role, provider, model)
);
CREATE TABLE deliveries (
	seq INTEGER NOT NULL, 
	id VARCHAR NOT NULL, 
	event_id VARCHAR NOT NULL, 
	event_type VARCHAR NOT NULL, 
	action VARCHAR NOT NULL, 
	repository VARCHAR NOT NULL, 
	number INTEGER NOT NULL, 
	sender VARCHAR NOT NULL, 
	status VARCHAR NOT NULL, 
	reason TEXT NOT NULL, 
	body BLOB NOT NULL, 
	body_hash VARCHAR NOT NULL, 
	received_at FLOAT NOT NULL, 
	duplicates INTEGER NOT NULL, 
	PRIMARY KEY (seq), 
	UNIQUE (id)
);
INSERT INTO "deliveries" VALUES(1,'d-1','x','x','x','acme/widget',1,'x','x','{}',X'7B7D','x',1.0,1);
CREATE TABLE effects (
	id VARCHAR NOT NULL, 
	"key" VARCHAR NOT NULL, 
	kind VARCHAR NOT NULL, 
	state VARCHAR NOT NULL, 
	begun_at FLOAT NOT NULL, 
	result TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "effects" VALUES('x','acme/widget/issues/1','issues','decided',1.0,'{}');
CREATE TABLE events (
	id INTEGER NOT NULL, 
	delivery VARCHAR, 
	repository VARCHAR NOT NULL, 
	number INTEGER NOT NULL, 
	kind VARCHAR NOT NULL, 
	state VARCHAR NOT NULL, 
	attempts INTEGER NOT NULL, 
	not_before FLOAT NOT NULL, 
	created_at FLOAT NOT NULL, 
	decided_at FLOAT, 
	actions TEXT NOT NULL, 
	error TEXT NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(delivery) REFERENCES deliveries (id)
);
INSERT INTO "events" VALUES(1,'d-1','acme/widget',1,'issues','decided',1,1.0,1.0,1.0,'{}','{}');
CREATE TABLE gate_results (
	id INTEGER NOT NULL, 
	"key" VARCHAR NOT NULL, 
	gate VARCHAR NOT NULL, 
	"commit" VARCHAR NOT NULL, 
	passed BOOLEAN NOT NULL, 
	reason TEXT NOT NULL, 
	seconds FLOAT NOT NULL, 
	at FLOAT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "gate_results" VALUES(1,'acme/widget/issues/1','x','x',1,'{}',1.0,1.0);
CREATE TABLE inputs (
	id INTEGER NOT NULL, 
	"key" VARCHAR NOT NULL, 
	event INTEGER, 
	kind VARCHAR NOT NULL, 
	source VARCHAR NOT NULL, 
	author VARCHAR NOT NULL, 
	content TEXT NOT NULL, 
	run VARCHAR NOT NULL, 
	at FLOAT NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(event) REFERENCES events (id), 
	FOREIGN KEY("key") REFERENCES sessions ("key"), 
	CONSTRAINT inputs_once UNIQUE ("key", source)
);
INSERT INTO "inputs" VALUES(1,'acme/widget/issues/1',1,'issues','x','x','{}','r',1.0);
CREATE TABLE issues (
	repository VARCHAR NOT NULL, 
	number INTEGER NOT NULL, 
	is_pull BOOLEAN NOT NULL, 
	labels TEXT NOT NULL, 
	assignees TEXT NOT NULL, 
	state VARCHAR NOT NULL, 
	title TEXT NOT NULL, 
	author VARCHAR NOT NULL, 
	head VARCHAR NOT NULL, 
	parent INTEGER NOT NULL, 
	head_commit VARCHAR NOT NULL, 
	seen_at FLOAT NOT NULL, 
	PRIMARY KEY (repository, number)
);
INSERT INTO "issues" VALUES('acme/widget',1,1,'{}','{}','decided','{}','x','x',1,'x',1.0);
CREATE TABLE messages (
	"key" VARCHAR NOT NULL, 
	seq INTEGER NOT NULL, 
	run VARCHAR NOT NULL, 
	turn INTEGER NOT NULL, 
	message TEXT NOT NULL, 
	sent TEXT, 
	dropped BOOLEAN NOT NULL, 
	at FLOAT NOT NULL, 
	PRIMARY KEY ("key", seq), 
	FOREIGN KEY("key") REFERENCES sessions ("key")
);
INSERT INTO "messages" VALUES('acme/widget/issues/1',1,'r',1,'{}','{}',1,1.0);
CREATE TABLE model_calls (
	id INTEGER NOT NULL, 
	"key" VARCHAR NOT NULL, 
	run VARCHAR NOT NULL, 
	repository VARCHAR NOT NULL, 
	role VARCHAR NOT NULL, 
	turn INTEGER NOT NULL, 
	provider VARCHAR NOT NULL, 
	model VARCHAR NOT NULL, 
	state VARCHAR NOT NULL, 
	tokens_in INTEGER NOT NULL, 
	tokens_out INTEGER NOT NULL, 
	tokens_cached INTEGER NOT NULL, 
	cost_microdollars BIGINT NOT NULL, 
	retries INTEGER NOT NULL, 
	latency_seconds FLOAT NOT NULL, 
	error TEXT NOT NULL, 
	at FLOAT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "model_calls" VALUES(1,'acme/widget/issues/1','r','acme/widget','implementer',1,'main','m','answered',1,1,1,7,1,1.0,'{}',86400.0);
CREATE TABLE notes (
	id INTEGER NOT NULL, 
	"key" VARCHAR NOT NULL, 
	run VARCHAR NOT NULL, 
	role VARCHAR NOT NULL, 
	text TEXT NOT NULL, 
	at FLOAT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "notes" VALUES(1,'acme/widget/issues/1','r','x','{}',1.0);
CREATE TABLE pauses (
	id INTEGER NOT NULL, 
	since FLOAT NOT NULL, 
	reason TEXT NOT NULL, 
	interrupts BOOLEAN NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "pauses" VALUES(1,1.0,'{}',1);
CREATE TABLE permissions (
	repository VARCHAR NOT NULL, 
	login VARCHAR NOT NULL, 
	permission VARCHAR NOT NULL, 
	asked_at FLOAT NOT NULL, 
	PRIMARY KEY (repository, login)
);
INSERT INTO "permissions" VALUES('acme/widget','x','x',1.0);
CREATE TABLE repositories (
	name VARCHAR NOT NULL, 
	default_branch VARCHAR NOT NULL, 
	set_up_at FLOAT NOT NULL, 
	reconciled_at FLOAT NOT NULL, 
	has_commits BOOLEAN NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "repositories" VALUES('acme/widget','x',1.0,1.0,1);
CREATE TABLE runs (
	id VARCHAR NOT NULL, 
	"key" VARCHAR NOT NULL, 
	role VARCHAR NOT NULL, 
	agent_type VARCHAR NOT NULL, 
	started_at FLOAT NOT NULL, 
	ended_at FLOAT, 
	running_seconds FLOAT NOT NULL, 
	turns INTEGER NOT NULL, 
	outcome VARCHAR NOT NULL, 
	reason TEXT NOT NULL, 
	start_commit VARCHAR NOT NULL, 
	end_commit VARCHAR NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY("key") REFERENCES sessions ("key")
);
INSERT INTO "runs" VALUES('r','acme/widget/issues/1','x','x',1.0,1.0,1.0,1,'x','{}','x','x');
CREATE TABLE scaffolds (
	repository VARCHAR NOT NULL, 
	number INTEGER NOT NULL, 
	since FLOAT NOT NULL, 
	PRIMARY KEY (repository)
);
INSERT INTO "scaffolds" VALUES('acme/widget',1,1.0);
CREATE TABLE sessions (
	"key" VARCHAR NOT NULL, 
	repository VARCHAR NOT NULL, 
	kind VARCHAR NOT NULL, 
	number INTEGER NOT NULL, 
	role VARCHAR NOT NULL, 
	state VARCHAR NOT NULL, 
	reason TEXT NOT NULL, 
	failure VARCHAR NOT NULL, 
	branch VARCHAR NOT NULL, 
	base VARCHAR NOT NULL, 
	pull INTEGER NOT NULL, 
	status_comment BIGINT NOT NULL, 
	shown VARCHAR NOT NULL, 
	ready_at FLOAT, 
	first_input_at FLOAT, 
	lease_owner VARCHAR NOT NULL, 
	lease_until FLOAT NOT NULL, 
	cancel TEXT NOT NULL, 
	failures INTEGER NOT NULL, 
	created_at FLOAT NOT NULL, 
	changed_at FLOAT NOT NULL, 
	PRIMARY KEY ("key")
);
INSERT INTO "sessions" VALUES('acme/widget/issues/1','acme/widget','issues',1,'x','completed','{}','x','x','x',1,1,'x',1.0,1.0,'x',1.0,'{}',1,1.0,1.0);
CREATE TABLE spending (
	"key" VARCHAR NOT NULL, 
	day INTEGER NOT NULL, 
	role VARCHAR NOT NULL, 
	provider VARCHAR NOT NULL, 
	model VARCHAR NOT NULL, 
	repository VARCHAR NOT NULL, 
	calls BIGINT NOT NULL, 
	failed BIGINT NOT NULL, 
	retries BIGINT NOT NULL, 
	tokens_in BIGINT NOT NULL, 
	tokens_out BIGINT NOT NULL, 
	tokens_cached BIGINT NOT NULL, 
	cost_microdollars BIGINT NOT NULL, 
	PRIMARY KEY ("key", day, role, provider, model)
);
CREATE TABLE summaries (
	repository VARCHAR NOT NULL, 
	number INTEGER NOT NULL, 
	through FLOAT NOT NULL, 
	text TEXT NOT NULL, 
	"by" VARCHAR NOT NULL, 
	state VARCHAR NOT NULL, 
	at FLOAT NOT NULL, 
	PRIMARY KEY (repository, number)
);
INSERT INTO "summaries" VALUES('acme/widget',1,1.0,'{}','x','decided',1.0);
CREATE TABLE tool_calls (
	id INTEGER NOT NULL, 
	"key" VARCHAR NOT NULL, 
	run VARCHAR NOT NULL, 
	turn INTEGER NOT NULL, 
	call VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	arguments TEXT NOT NULL, 
	state VARCHAR NOT NULL, 
	result TEXT NOT NULL, 
	begun_at FLOAT NOT NULL, 
	ended_at FLOAT, 
	PRIMARY KEY (id), 
	FOREIGN KEY("key") REFERENCES sessions ("key")
);
INSERT INTO "tool_calls" VALUES(1,'acme/widget/issues/1','r',1,'x','acme/widget','{}','decided','{}',1.0,1.0);
CREATE TABLE transitions (
	id INTEGER NOT NULL, 
	"key" VARCHAR NOT NULL, 
	from_state VARCHAR NOT NULL, 
	to_state VARCHAR NOT NULL, 
	reason TEXT NOT NULL, 
	at FLOAT NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY("key") REFERENCES sessions ("key")
);
INSERT INTO "transitions" VALUES(1,'acme/widget/issues/1','x','x','{}',1.0);
CREATE TABLE waiting_checks (
	"key" VARCHAR NOT NULL, 
	repository VARCHAR NOT NULL, 
	pull INTEGER NOT NULL, 
	"commit" VARCHAR NOT NULL, 
	expected BOOLEAN NOT NULL, 
	since FLOAT NOT NULL, 
	looks INTEGER NOT NULL, 
	look_at FLOAT NOT NULL, 
	PRIMARY KEY ("key"), 
	FOREIGN KEY("key") REFERENCES sessions ("key")
);
INSERT INTO "waiting_checks" VALUES('acme/widget/issues/1','acme/widget',1,'x',1,1.0,1,1.0);
CREATE TABLE waiting_issues (
	"key" VARCHAR NOT NULL, 
	repository VARCHAR NOT NULL, 
	number INTEGER NOT NULL, 
	role VARCHAR NOT NULL, 
	by_person BOOLEAN NOT NULL, 
	input TEXT NOT NULL, 
	labelled BOOLEAN NOT NULL, 
	waits_for TEXT NOT NULL, 
	since FLOAT NOT NULL, 
	PRIMARY KEY ("key")
);
INSERT INTO "waiting_issues" VALUES('acme/widget/issues/1','acme/widget',1,'x',1,'{}',1,'{}',1.0);
CREATE TABLE waiting_merges (
	"key" VARCHAR NOT NULL, 
	repository VARCHAR NOT NULL, 
	head VARCHAR NOT NULL, 
	base VARCHAR NOT NULL, 
	title TEXT NOT NULL, 
	body TEXT NOT NULL, 
	waits_for TEXT NOT NULL, 
	since FLOAT NOT NULL, 
	PRIMARY KEY ("key"), 
	FOREIGN KEY("key") REFERENCES sessions ("key")
);
INSERT INTO "waiting_merges" VALUES('acme/widget/issues/1','acme/widget','x','x','{}','{}','{}',1.0);
CREATE INDEX deliveries_by_status ON deliveries (status, duplicates);
CREATE INDEX ix_deliveries_received_at ON deliveries (received_at);
CREATE INDEX ix_effects_key ON effects ("key");
CREATE INDEX gate_results_by_verdict ON gate_results (gate, passed);
CREATE INDEX ix_gate_results_key ON gate_results ("key");
CREATE INDEX ix_model_calls_at ON model_calls (at);
CREATE INDEX ix_model_calls_key ON model_calls ("key");
CREATE INDEX ix_model_calls_repository ON model_calls (repository);
CREATE INDEX model_calls_reserved ON model_calls (at) WHERE state = 'reserved';
CREATE INDEX ix_notes_key ON notes ("key");
CREATE INDEX ix_sessions_repository ON sessions (repository);
CREATE INDEX sessions_by_state ON sessions (state, changed_at);
CREATE INDEX sessions_ready ON sessions (ready_at);
CREATE INDEX spending_by_cost ON spending ("key", cost_microdollars);
CREATE INDEX spending_by_repository ON spending (repository, day);
CREATE INDEX ix_waiting_issues_repository ON waiting_issues (repository);
CREATE INDEX events_by_state ON events (state, id);
CREATE INDEX ix_runs_key ON runs ("key");
CREATE INDEX ix_runs_started_at ON runs (started_at);
CREATE INDEX ix_tool_calls_key ON tool_calls ("key");
CREATE INDEX ix_transitions_at ON transitions (at);
CREATE INDEX ix_transitions_key ON transitions ("key");
CREATE INDEX ix_waiting_checks_look_at ON waiting_checks (look_at);
CREATE INDEX ix_waiting_merges_repository ON waiting_merges (repository);
CREATE INDEX inputs_by_key ON inputs ("key", run);
COMMIT;
