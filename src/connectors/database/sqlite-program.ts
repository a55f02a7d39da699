/**
 * What runs in a process of its own for each statement: SQLite's steps cannot be interrupted from JavaScript, a process can be
 * ended. Given as text because the program ships as one bundle, in which a file of its own would have no place. Its message is
 * `{path, isWritable, text, params, maxRows, maxBytes}`, its answer `{columns, rows, isTruncated, changes}` or `{error, code}`.
 */
export const SQLITE_PROGRAM = `
import { constants as c, DatabaseSync } from 'node:sqlite';

const READING = [c.SQLITE_SELECT, c.SQLITE_READ, c.SQLITE_RECURSIVE];
const LOOKING = ['table_info', 'table_xinfo', 'table_list', 'index_list', 'index_info', 'foreign_key_list'];

function judge(isWritable) {
  return (action, name, detail) => {
    if (action === c.SQLITE_FUNCTION) return detail === 'load_extension' ? c.SQLITE_DENY : c.SQLITE_OK;
    if (action === c.SQLITE_PRAGMA) return LOOKING.includes(name) ? c.SQLITE_OK : c.SQLITE_DENY;
    if (action === c.SQLITE_ATTACH || action === c.SQLITE_DETACH) return c.SQLITE_DENY;
    return isWritable || READING.includes(action) ? c.SQLITE_OK : c.SQLITE_DENY;
  };
}

function bound(value) {
  if (typeof value === 'boolean') return Number(value);
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
}

function shown(value) {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value;
}

function run({ path, isWritable, text, params, maxRows, maxBytes }) {
  const database = new DatabaseSync(path, { readOnly: !isWritable, timeout: 2000, allowExtension: false, defensive: true });
  database.exec('PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF');
  database.setAuthorizer(judge(isWritable));
  const statement = database.prepare(text);
  if (text.slice(statement.sourceSQL.length).trim() !== '') return { error: 'Only one statement can be run at a time', code: 1 };
  statement.setReadBigInts(true);
  statement.setReturnArrays(true);
  const columns = statement.columns().map(({ name }) => name);
  const values = params.map(bound);
  if (columns.length === 0) return { columns, rows: [], isTruncated: false, changes: Number(statement.run(...values).changes) };
  const rows = [];
  let bytes = 0;
  for (const values_ of statement.iterate(...values)) {
    if (rows.length === maxRows) return { columns, rows, isTruncated: true };
    const row = values_.map(shown);
    bytes += JSON.stringify(row).length;
    if (bytes > maxBytes) return { error: 'too large', code: -1 };
    rows.push(row);
  }
  return { columns, rows, isTruncated: false };
}

process.once('message', (job) => {
  let answer;
  try {
    answer = run(job);
  } catch (error) {
    answer = { error: String(error.message), code: error.errcode ?? 0 };
  }
  process.send(answer, () => process.disconnect());
});`;
