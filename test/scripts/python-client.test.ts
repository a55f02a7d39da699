import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { pythonClient } from '../../scripts/package/python-client.ts';
import { ERROR_CODES } from '../../src/core/errors.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { withDirectory } from '../cli/cli-fixture.ts';
import { ask, makeHttpApi } from '../http/http-fixture.ts';

const hasPython = (() => {
  try {
    execFileSync('python3', ['--version']);
    return true;
  } catch {
    return false;
  }
})();

const LISTED = `
import inspect, json, atmosphere_edge as client
print(json.dumps({
    "methods": [name for name, _ in inspect.getmembers(client.Operations, inspect.isfunction)],
    "invoke": str(inspect.signature(client.Operations.invoke_tool)),
    "classes": {code: kind.__name__ for code, kind in client.CLASSES.items()},
}))
`;

const HOSTILE = `
import io, json, atmosphere_edge as client
client.MAX_ANSWER_BYTES = 1000

class Answer(io.BytesIO):
    status = 200
    headers = {"Content-Type": "application/json"}

def code_of(work):
    try:
        work()
    except client.HubError as error:
        return error.code
    return None

def endless(line):
    return lambda: list(client._messages(io.BytesIO(line * 1000)))

hub = client.Hub("https://hub.local:8081")
print(json.dumps({
    "clear": [code_of(lambda: client.Hub(url, token="t")) for url in ("http://192.168.1.9:8081", "http://127.0.0.1.evil.example", "http://localhost:8081")],
    "long": [code_of(lambda: hub._answer(Answer(b"x" * 1001))), code_of(endless(b"data: 1\\n")), code_of(endless(b"data"))],
    "whole": [[event.data for event in client._messages(io.BytesIO(b"data: {}\\n\\n" * 200))].count({}), code_of(lambda: hub._answer(Answer(b"{}")))],
}))
`;

describe('the Python client', () => {
  let document: JsonObject;
  beforeAll(async () => {
    document = (await ask(makeHttpApi().httpApi, '/openapi.json')).json as JsonObject;
  });

  test('has a method for each operation of the document, and leaves no mark of its form', () => {
    const text = pythonClient(document);
    const ids = Object.values(document.paths as JsonObject).flatMap((methods) =>
      Object.values(methods as JsonObject).map((operation) => String((operation as JsonObject).operationId)),
    );
    expect(ids.length).toBeGreaterThan(80);
    for (const id of ids) expect(text).toContain(`    def ${id.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}(self`);
    expect(text).not.toMatch(/@[A-Z]+@/);
    expect(text).toContain('def stream_events(self, *, types: Optional[str] = None');
  });

  // The test needs python3; scripts/check tells what was skipped.
  test.skipIf(!hasPython)('is taken by Python without a warning, with a class for each error code', async () => {
    await withDirectory(async (dir) => {
      writeFileSync(join(dir, 'atmosphere_edge.py'), pythonClient(document));
      const { methods, invoke, classes } = JSON.parse(
        execFileSync('python3', ['-W', 'error', '-c', LISTED], { cwd: dir, encoding: 'utf8' }),
      );
      expect(methods).toEqual(expect.arrayContaining(['list_devices', 'replace_device', 'stream_events', 'decide_approval', 'follow']));
      expect(invoke).toContain('async_');
      expect(Object.keys(classes)).toEqual(Object.keys(ERROR_CODES));
      expect(classes).toMatchObject({
        APPROVAL_REQUIRED: 'ApprovalRequired',
        RULE_BLOCKED: 'Refused',
        DEVICE_UNREACHABLE: 'CallFailed',
        SHUTTING_DOWN: 'HubUnreachable',
        VALIDATION_ERROR: 'WrongRequest',
      });
    });
  });

  test.skipIf(!hasPython)('sends nothing in clear to another machine, and reads no endless answer', async () => {
    await withDirectory(async (dir) => {
      writeFileSync(join(dir, 'atmosphere_edge.py'), pythonClient(document));
      const found = JSON.parse(execFileSync('python3', ['-W', 'error', '-c', HOSTILE], { cwd: dir, encoding: 'utf8' }));
      expect(found).toEqual({
        clear: ['VALIDATION_ERROR', 'VALIDATION_ERROR', null],
        long: ['RESULT_INVALID', 'RESULT_INVALID', 'RESULT_INVALID'],
        whole: [200, null],
      });
    });
  });
});
