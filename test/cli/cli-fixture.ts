import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CliIo, HubMachineIo } from '../../src/cli/cli-io.ts';
import { HUB_PROGRAM } from '../../src/cli/command-table.ts';
import { hubMachineChecks } from '../../src/cli/doctor/own-state.ts';
import { runCli } from '../../src/cli/run-cli.ts';
import type { HttpApi } from '../../src/hub/http.ts';
import { settled } from '../calls/pipeline-fixture.ts';
import { HOST, TOKEN } from '../http/http-fixture.ts';

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  /** What stdout holds, parsed: one JSON document. */
  json(): ReturnType<typeof JSON.parse>;
}

export interface Circumstances extends Partial<Omit<HubMachineIo, 'stdin'>> {
  readonly stdin?: string;
}

const unused = () => Promise.reject(new TypeError('This test gave no such part'));

/** Parts of the CLI that do nothing: no hub answers, nobody sits at a terminal. */
export const IDLE_IO: Omit<HubMachineIo, 'stdout' | 'stderr' | 'stdin' | 'env'> = {
  fetch: () => Promise.reject(new TypeError('fetch failed')),
  serve: () => Promise.resolve(0),
  sleep: () => settled(),
  askSecret: () => Promise.resolve(undefined),
  askLine: () => Promise.resolve(undefined),
  machineChecks: () => Promise.resolve([]),
  profileCheck: unused,
  profileDraft: unused,
  rulesCheck: unused,
  configCheck: unused,
  safeOutputs: unused,
  upgrade: { watch: unused, goBack: unused },
  stateArchive: unused,
  openFile: unused,
};

/** Runs `atmo` with everything of the world replaced; by default no hub answers. */
export async function atmo(argv: readonly string[], { stdin = '', ...io }: Circumstances = {}): Promise<Run> {
  let out = '';
  let err = '';
  const env = io.env ?? { ATMO_TOKEN: TOKEN };
  const code = await runCli(argv, HUB_PROGRAM, {
    stdout: { write: (text) => (out += text) },
    stderr: { write: (text) => (err += text) },
    stdin: (async function* () {
      yield stdin;
    })(),
    ...IDLE_IO,
    machineChecks: () => hubMachineChecks(env, [], undefined),
    ...io,
    env,
  });
  return { code, out, err, json: () => JSON.parse(out) };
}

/** A fetch that ends in a httpApi of this process: the real API without a socket. */
export function fetchFrom(httpApi: HttpApi): CliIo['fetch'] {
  return async (url, init) => {
    const headers = new Headers(init.headers);
    headers.set('host', HOST);
    return httpApi.app.request(url, { ...init, headers });
  };
}

/** Runs with a directory that is gone afterwards. */
export async function withDirectory<T>(run: (dir: string) => Promise<T>): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), 'atmo-cli-'));
  try {
    return await run(dir);
  } finally {
    rmSync(dir, { recursive: true });
  }
}
