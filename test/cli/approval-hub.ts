import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { enrolOwnerKey } from '../../src/auth/approvals/approver-registry.ts';
import type { CliIo } from '../../src/cli/cli-io.ts';
import { HUB_PROGRAM } from '../../src/cli/command-table.ts';
import { runCli } from '../../src/cli/run-cli.ts';
import type { Principal } from '../../src/core/auth/principal.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { approvalRoutes } from '../../src/http/routes/admin-routes.ts';
import { toolRoute } from '../../src/http/routes/call-request.ts';
import { callRoutes } from '../../src/http/routes/call-routes.ts';
import { createHttpApp } from '../../src/http/server/http-app.ts';
import { ReadRateLimiter, TokenGuessLockout } from '../../src/http/server/rate-limits.ts';
import { approvalTools } from '../../src/tools/builtin/approval-tools.ts';
import { makeApprovals } from '../auth/approvals/approval-fixture.ts';
import { listAuthorizer, makePipeline, makeTool } from '../calls/pipeline-fixture.ts';
import { authenticatorOf, HOST, PORT, TOKEN } from '../http/http-fixture.ts';
import { IDLE_IO } from './cli-fixture.ts';

const CALLER: Principal = { id: 'kitchen', kind: 'agent', permissions: ['device:control:door'] };
const OTHER: Principal = { id: 'garden', kind: 'agent', permissions: ['*'] };
const person = (id: string): Principal => ({ id, kind: 'agent', permissions: ['*', 'admin:approvals'] });

/** Tokens that the hub of `makeApprovalHub` knows beside the owner's. */
export const CALLER_TOKEN = 'kitchen-token';
export const OTHER_TOKEN = 'garden-token';
export const tokenOf = (name: string): string => `token-of-${name}`;

/** A hub whose front door takes `persons` to open, with real approvals behind a real pipeline and door, without sockets. */
export async function makeApprovalHub({ persons = 1 } = {}) {
  const approvals = await makeApprovals();
  const setup = makePipeline({ approvals: approvals.queue });
  const unlocked: object[] = [];
  const unlock = makeTool({
    name: 'unlock',
    namespace: 'matter',
    parameters: { type: 'object', properties: { pin: { type: 'string', 'x-secret': true }, seconds: { type: 'integer' } } },
    requires: { permissions: ['device:control:door'] },
    execution: { side_effects: true, async_allowed: true },
    metadata: { title: 'Unlock the front door', dangerous: true },
    handler: async (params) => ({ opened: unlocked.push(params) }),
  });
  const mint = makeTool({
    name: 'mint_token',
    namespace: 'hub',
    requires: { permissions: ['admin:token'] },
    execution: { side_effects: true },
    handler: async (params) => ({ token: tokenOf(String(params.agent_id)) }),
  });
  const ofMany = { ...unlock, definition: { ...unlock.definition, metadata: { ...unlock.definition.metadata, approvalsNeeded: persons } } };
  const ports = { approvals: approvals.queue, approvers: approvals.approvers, standing: approvals.standing, authorizer: listAuthorizer };
  for (const tool of [...approvalTools(ports), ofMany, mint]) setup.registry.register(tool);
  const tokens = { [CALLER_TOKEN]: CALLER, [OTHER_TOKEN]: OTHER, [tokenOf('ann')]: person('ann'), [tokenOf('ben')]: person('ben') };
  const mintRoute = toolRoute({
    method: 'POST',
    path: '/api/v1/tokens',
    summary: 'Make a token',
    tool: 'hub:mint_token',
    body: {},
    status: 201,
  });
  const door = createHttpApp([...approvalRoutes(setup.pipeline), ...callRoutes(setup.pipeline), mintRoute(setup.pipeline)], {
    authenticator: authenticatorOf(tokens),
    logger: silentLogger,
    clock: setup.clock,
    onAnswer: () => {},
    port: () => PORT,
    isOwnName: () => false,
    proxy: undefined,
    guesses: new TokenGuessLockout(setup.clock, () => {}),
    reads: new ReadRateLimiter(setup.clock),
  });
  const fetch: CliIo['fetch'] = async (url, init) => {
    const headers = new Headers(init.headers);
    headers.set('host', HOST);
    return door.request(url, { ...init, headers });
  };

  /** A state directory as the hub's first start leaves it, and an empty home. */
  async function makeOwner(dir: string): Promise<CliIo['env']> {
    const env = { ATMO_STATE_DIR: join(dir, 'state'), HOME: join(dir, 'home') };
    for (const folder of Object.values(env)) mkdirSync(folder);
    writeFileSync(join(env.ATMO_STATE_DIR, 'owner.token'), TOKEN, { mode: 0o600 });
    await enrolOwnerKey({ approvers: approvals.approvers, logger: silentLogger, onRepaired: () => {} }, env.ATMO_STATE_DIR);
    return env;
  }

  /** Runs `atmo` against this hub. */
  async function atmo(argv: readonly string[], env: CliIo['env'], way: CliIo['fetch'] = fetch) {
    const written = { out: '', err: '' };
    const code = await runCli(argv, HUB_PROGRAM, {
      ...IDLE_IO,
      stdout: { write: (text) => (written.out += text) },
      stderr: { write: (text) => (written.err += text) },
      stdin: (async function* () {})(),
      env,
      fetch: way,
    });
    return { code, ...written, json: () => JSON.parse(written.out) };
  }

  return { ...approvals, setup, fetch, unlocked, makeOwner, atmo };
}
