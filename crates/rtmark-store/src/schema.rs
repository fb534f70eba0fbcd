//! The file's format, and its migration from older versions.

use rusqlite::{Connection, TransactionBehavior};

/// Each step migrates from the version of its index to the next one. Steps are only ever added, because
/// files of every version exist.
pub const STEPS: &[&str] = &[
    "
    CREATE TABLE runs (
        row INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        started_ms INTEGER NOT NULL,
        finished_ms INTEGER,
        command TEXT NOT NULL,
        rtmark TEXT NOT NULL
    ) STRICT;
    CREATE TABLE answers (
        row INTEGER PRIMARY KEY,
        run INTEGER NOT NULL REFERENCES runs (row) ON DELETE CASCADE,
        soc TEXT NOT NULL,
        kernel TEXT NOT NULL,
        version TEXT NOT NULL,
        profile TEXT NOT NULL,
        scenario TEXT NOT NULL,
        backend TEXT NOT NULL,
        basis TEXT,
        answer TEXT NOT NULL,
        fingerprint TEXT,
        body TEXT NOT NULL
    ) STRICT;
    CREATE INDEX answers_by_run ON answers (run);
    CREATE INDEX answers_by_fingerprint ON answers (fingerprint) WHERE fingerprint IS NOT NULL;
    CREATE TRIGGER answers_stay BEFORE UPDATE ON answers BEGIN
        SELECT raise(ABORT, 'answers are append-only');
    END;
    CREATE TRIGGER finished_runs_stay BEFORE UPDATE ON runs WHEN old.finished_ms IS NOT NULL BEGIN
        SELECT raise(ABORT, 'finished runs are append-only');
    END;
",
    // Adds commits of runs, and names and removals as appended marks; nothing is deleted that was not
    // removed before.
    "
    DROP TRIGGER finished_runs_stay;
    ALTER TABLE runs ADD COLUMN revision TEXT;
    UPDATE runs SET revision = (
        SELECT json_extract(body, '$.provenance.commit') FROM answers
        WHERE run = runs.row AND answer = 'measured' AND json_valid(body) ORDER BY row LIMIT 1
    );
    CREATE TRIGGER finished_runs_stay BEFORE UPDATE ON runs WHEN old.finished_ms IS NOT NULL BEGIN
        SELECT raise(ABORT, 'finished runs are append-only');
    END;
    CREATE INDEX answers_by_key ON answers (scenario, kernel, soc);
    CREATE TABLE marks (
        row INTEGER PRIMARY KEY,
        run INTEGER NOT NULL REFERENCES runs (row) ON DELETE CASCADE,
        at_ms INTEGER NOT NULL,
        mark TEXT NOT NULL CHECK (mark IN ('named', 'unnamed', 'removed', 'restored')),
        text TEXT NOT NULL DEFAULT ''
    ) STRICT;
    CREATE INDEX marks_by_run ON marks (run);
    CREATE VIEW removed AS SELECT run, text AS reason FROM marks AS mine WHERE mark = 'removed'
        AND row = (SELECT max(row) FROM marks WHERE run = mine.run AND mark IN ('removed', 'restored'));
    CREATE VIEW names AS SELECT text AS name, run FROM marks AS mine WHERE mark = 'named'
        AND row = (SELECT max(row) FROM marks WHERE text = mine.text AND mark IN ('named', 'unnamed'));
    CREATE TRIGGER marks_stay BEFORE UPDATE ON marks BEGIN
        SELECT raise(ABORT, 'marks are append-only');
    END;
    CREATE TRIGGER marks_go_with_runs BEFORE DELETE ON marks
        WHEN EXISTS (SELECT 1 FROM runs WHERE row = old.run) BEGIN
        SELECT raise(ABORT, 'marks are append-only');
    END;
    CREATE TRIGGER only_removed_runs_go BEFORE DELETE ON runs
        WHEN NOT EXISTS (SELECT 1 FROM removed WHERE run = old.row) BEGIN
        SELECT raise(ABORT, 'only removed runs are pruned');
    END;
    CREATE TRIGGER only_removed_answers_go BEFORE DELETE ON answers
        WHEN NOT EXISTS (SELECT 1 FROM removed WHERE run = old.run) BEGIN
        SELECT raise(ABORT, 'only removed runs are pruned');
    END;
",
    // Adds the kind of run, and the number of its answers, as counting would read them all. For older
    // runs, both are derived from their answers and commands.
    "
    DROP TRIGGER finished_runs_stay;
    ALTER TABLE runs ADD COLUMN kind TEXT NOT NULL DEFAULT 'measured'
        CHECK (kind IN ('measured', 'imported', 'brought', 'fairness'));
    CREATE TABLE tallies (
        run INTEGER PRIMARY KEY REFERENCES runs (row) ON DELETE CASCADE,
        answers INTEGER NOT NULL,
        failed INTEGER NOT NULL,
        from_logs INTEGER NOT NULL
    ) STRICT;
    INSERT INTO tallies SELECT run, count(*), sum(answer = 'failed'), sum(backend = 'log')
        FROM answers GROUP BY run;
    UPDATE runs SET kind = 'imported' WHERE row IN (SELECT run FROM tallies WHERE from_logs = answers);
    UPDATE runs SET kind = 'fairness' WHERE command || ' ' LIKE 'rtmark% fairness %';
    CREATE TRIGGER finished_runs_stay BEFORE UPDATE ON runs WHEN old.finished_ms IS NOT NULL BEGIN
        SELECT raise(ABORT, 'finished runs are append-only');
    END;
    CREATE TRIGGER answers_are_counted AFTER INSERT ON answers BEGIN
        INSERT INTO tallies VALUES (new.run, 1, new.answer = 'failed', new.backend = 'log')
            ON CONFLICT (run) DO UPDATE SET answers = answers + 1,
                failed = failed + excluded.failed, from_logs = from_logs + excluded.from_logs;
    END;
",
    // Adds the wall-clock time of a measurement, which is not part of its answer.
    "
    ALTER TABLE answers ADD COLUMN took_us INTEGER;
",
];

/// The newest format version.
pub const NEWEST: i64 = STEPS.len() as i64;

/// The contents of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A store of this version; 0 is an empty file.
    Of(i64),
    /// Another application's tables.
    Foreign,
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Determines the contents of a database, without changing it.
pub fn form(connection: &Connection) -> rusqlite::Result<Form> {
    let found = version(connection)?;
    // The tables of a newer version are unknown.
    let expected = match found {
        0 => "SELECT count(*) = 0 FROM sqlite_schema",
        known if known <= NEWEST => {
            "SELECT count(*) = 2 FROM sqlite_schema WHERE name IN ('runs', 'answers')"
        }
        _ => "SELECT true",
    };
    let ours: bool = connection.query_row(expected, [], |row| row.get(0))?;
    Ok(if ours { Form::Of(found) } else { Form::Foreign })
}

/// Migrates a file to the newest version and returns its resulting version, which is larger than
/// [`NEWEST`] if a newer rtmark wrote it. Such a file is left untouched, and so is another
/// application's.
pub fn prepare(connection: &mut Connection) -> rusqlite::Result<Form> {
    let found = match form(connection)? {
        Form::Of(found) if found <= NEWEST => found,
        other => return Ok(other),
    };
    connection.pragma_update(None, "foreign_keys", true)?;
    // Readers do not wait for writers, and a killed writer loses nothing that was committed.
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    if found < NEWEST {
        // Immediate, so that of two processes that find an old file, one migrates and the other waits.
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let found = usize::try_from(version(&transaction)?).unwrap_or(0);
        for step in STEPS.iter().skip(found) {
            transaction.execute_batch(step)?;
        }
        transaction.pragma_update(None, "user_version", NEWEST)?;
        transaction.commit()?;
    }
    version(connection).map(Form::Of)
}
