import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder for one benchmark that vanishes with it. */
export class Workspace implements Disposable {
  readonly dir = mkdtempSync(join(tmpdir(), 'atmo-bench-'));

  [Symbol.dispose](): void {
    rmSync(this.dir, { recursive: true, force: true });
  }
}
