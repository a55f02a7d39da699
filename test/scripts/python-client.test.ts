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
});
