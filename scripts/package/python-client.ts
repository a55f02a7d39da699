/** The Python client: one file by the standard library alone, with a method for each operation of the hub's OpenAPI document. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERROR_CODES } from '../../src/core/errors.ts';
import { type JsonObject, objectOf, objectsOf, textsOf } from '../../src/core/json.ts';
import { ROOT } from '../bundle.ts';

const FORM = join(ROOT, 'scripts/package/python/atmosphere_edge.py');
/** The class of an error in Python, by the exit code that `atmo` has for it. */
const CLASS_BY_EXIT: Readonly<Record<number, string>> = {
  1: 'HubError',
  2: 'WrongRequest',
  3: 'Refused',
  4: 'CallFailed',
  5: 'HubUnreachable',
};
const OWN_CLASSES: Readonly<Record<string, string>> = { APPROVAL_REQUIRED: 'ApprovalRequired', OUTCOME_UNKNOWN: 'OutcomeUnknown' };
/** Words that Python keeps for itself; a parameter of this name gets an underscore. */
const KEYWORDS: ReadonlySet<string> = new Set([
  'async',
  'from',
  'in',
  'is',
  'not',
  'or',
  'and',
  'for',
  'if',
  'with',
  'class',
  'def',
  'self',
]);
const TYPES: Readonly<Record<string, string>> = { string: 'str', integer: 'int', number: 'float', boolean: 'bool' };

/** Writes the client for hubs of this checkout into a folder. Resolves with the path of the file. */
export async function buildPythonClient(outdir: string, document?: JsonObject): Promise<string> {
  const file = join(outdir, 'atmosphere_edge.py');
  mkdirSync(outdir, { recursive: true });
  writeFileSync(file, pythonClient(document ?? (await ownDocument())));
  return file;
}

/** Returns the document that a hub of this checkout answers, one without a socket and without devices. */
async function ownDocument(): Promise<JsonObject> {
  const { ask, makeHttpApi } = await import('../../test/http/http-fixture.ts');
  const { json } = await ask(makeHttpApi().httpApi, '/openapi.json');
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { readonly version: string };
  return { ...objectOf(json), info: { ...objectOf(objectOf(json).info), version } };
}

/** Returns the text of the client for the hub that the document describes. */
export function pythonClient(document: JsonObject): string {
  const version = String(objectOf(document.info).version);
  const operations = Object.entries(objectOf(document.paths)).flatMap(([path, methods]) =>
    Object.entries(objectOf(methods)).map(([method, operation]) => methodText({ path, method, operation: objectOf(operation), document })),
  );
  return readFileSync(FORM, 'utf8')
    .replace('@VERSION@', version)
    .replace('    # @CODES@\n', () => Object.entries(ERROR_CODES).map(codeLine).join(''))
    .replace('    # @OPERATIONS@\n', () => operations.join('\n'));
}

function codeLine([code, { exitCode }]: [string, { readonly exitCode: number }]): string {
  return `    "${code}": ${OWN_CLASSES[code] ?? CLASS_BY_EXIT[exitCode] ?? 'HubError'},\n`;
}

interface DescribedOperation {
  readonly path: string;
  readonly method: string;
  readonly operation: JsonObject;
  readonly document: JsonObject;
}

interface Parameter {
  /** Name in Python and in the request. */
  readonly name: string;
  readonly key: string;
  readonly place: string;
  readonly type: string;
}

function methodText({ path, method, operation, document }: DescribedOperation): string {
  const parameters = objectsOf(operation.parameters).map((parameter) => parameterOf(parameter, document));
  const inPath = parameters.filter(({ place }) => place === 'path');
  const inQuery = parameters.filter(({ place }) => place === 'query');
  const inHeader = parameters.filter(({ key }) => key === 'Idempotency-Key' || key === 'Last-Event-ID');
  const hasBody = operation.requestBody !== undefined;
  const signature = [
    'self',
    ...inPath.map(({ name }) => `${name}: str`),
    ...(hasBody ? ['body: Any = None'] : []),
    ...(inQuery.length + inHeader.length > 0 ? ['*'] : []),
    ...[...inQuery, ...inHeader].map(({ name, type }) => `${name}: Optional[${type}] = None`),
  ];
  const target = `"${path.replace(/\{\w+\}/g, '%s')}"${inPath.length > 0 ? ` % (${inPath.map(({ name }) => `_quote(${name})`).join(', ')},)` : ''}`;
  const query = dictText(inQuery);
  const isStream = isStreamOnly(operation);
  const call = isStream
    ? `self.follow(${target}, ${query}${inHeader.length > 0 ? ', None, last_event_id' : ''})`
    : `self.request("${method.toUpperCase()}", ${target}, ${query}, ${hasBody ? 'body' : 'None'}, ${dictText(inHeader)})`;
  return [
    `    def ${snakeCase(String(operation.operationId))}(${signature.join(', ')}) -> ${isStream ? 'Iterator[Event]' : 'Any'}:`,
    `        """${docText(operation.summary)}"""`,
    `        return ${call}`,
    '',
  ].join('\n');
}

function parameterOf(parameter: JsonObject, document: JsonObject): Parameter {
  const reference = typeof parameter.$ref === 'string' ? parameter.$ref.split('/').at(-1) : undefined;
  const found = reference === undefined ? parameter : objectOf(objectOf(objectOf(document.components).parameters)[reference]);
  const key = String(found.name);
  const name = key.toLowerCase().replace(/[^a-z0-9]+/g, '_');
  const type = TYPES[String(objectOf(found.schema).type)] ?? 'Any';
  return { name: KEYWORDS.has(name) ? `${name}_` : name, key, place: String(found.in), type };
}

function dictText(parameters: readonly Parameter[]): string {
  return parameters.length === 0 ? 'None' : `{${parameters.map(({ name, key }) => `"${key}": ${name}`).join(', ')}}`;
}

/** Returns whether an operation answers nothing but a stream of events, which ends with the connection alone. */
function isStreamOnly(operation: JsonObject): boolean {
  const media = Object.keys(objectOf(objectOf(objectOf(operation.responses)['200']).content));
  return media.length === 1 && media[0] === 'text/event-stream';
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function docText(summary: unknown): string {
  const text = textsOf([summary]).join('').replaceAll('\\', '').replaceAll('"', "'");
  return text.endsWith('.') ? text : `${text}.`;
}
