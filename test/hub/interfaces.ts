import { toAtmoError } from '../../src/core/errors.ts';
import { atmo } from '../cli/cli-fixture.ts';
import { HOST } from '../http/http-fixture.ts';
import type { InterfaceFixture, Minted } from './interface-fixture.ts';

/** What a caller at any interface may have to be. */
export interface CallerOptions {
  /** Name of the tool of the fixture that it calls. */
  readonly tool: string;
  /** Calls of the tool that succeed within a minute. */
  readonly callsPerMinute?: number;
}

/** Somebody who calls one tool at one interface. */
export interface Caller {
  /** As the audit log and the approvals name it. */
  readonly agentId: string;
  /** The token with which it calls. */
  readonly tokenId: string;
  /** `success`, or the code of the error. */
  call(): Promise<string>;
  /** Starts a call of the tool `held`, which takes the only place of this token among the running calls. */
  hold(): Promise<unknown>;
}

/** A way by which calls come to the hub. */
interface Interface {
  readonly open: (fixture: InterfaceFixture, options: CallerOptions) => Promise<Caller>;
  /** Its calls come in the body of a request over HTTP. */
  readonly takesBody?: true;
  /** A call that holds its calls, the steps, judges them before it runs them. */
  readonly isJudgedBefore?: true;
  /** The hub ends the caller together with its token, so that it calls no more. */
  readonly endsWithToken?: true;
  /** Its calls are steps, which the calls that hold them cannot judge beforehand. */
  readonly isOpenStep?: true;
}

const USE = ['probe:use'];

const overHttp: Interface = {
  takesBody: true,
  open: async (fixture, { tool, callsPerMinute }) => {
    const minted = await fixture.mint(USE, callsPerMinute);
    return callerOf(fixture, minted, async () => codeOf(await fixture.hub.call(`probe:${tool}`, {}, minted.token)));
  },
};

/** The answer to the request names a job, which nobody sees once its token is revoked: the audit log tells how it ended. */
const asJob: Interface = {
  takesBody: true,
  open: async (fixture, { tool, callsPerMinute }) => {
    const minted = await fixture.mint(USE, callsPerMinute);
    const path = `/api/v1/tools/probe:${tool}/invoke?async=true`;
    const begin = async () => {
      const answer = await fixture.hub.ask(path, { token: minted.token, body: {} });
      return answer.job_id === undefined ? codeOf(answer) : undefined;
    };
    return callerOf(fixture, minted, async () => (await fixture.codeOfNextRow(minted.agentId, begin)) ?? 'nothing ran');
  },
};

const asModelCall: Interface = {
  takesBody: true,
  open: async (fixture, { tool, callsPerMinute }) => {
    const minted = await fixture.mint(USE, callsPerMinute);
    return callerOf(fixture, minted, async () => {
      const body = { id: fixture.newName('call'), type: 'tool_use', name: `probe:${tool}`, input: {} };
      const answer = await fixture.hub.ask('/api/v1/tool-calls', { token: minted.token, body });
      return answer.success === true ? 'success' : (answer.code ?? answer.error.split(':')[0]);
    });
  },
};

const overMcp: Interface = {
  takesBody: true,
  open: async (fixture, { tool, callsPerMinute }) => {
    const minted = await fixture.mint(USE, callsPerMinute);
    return callerOf(fixture, minted, async () => {
      const { result, error, code } = await fixture.hub.mcp(minted.token, { name: tool, arguments: {} });
      if (error ?? code) return error?.data?.code ?? code;
      return result.isError ? result.structuredContent.code : 'success';
    });
  },
};

const overCli: Interface = {
  takesBody: true,
  open: async (fixture, { tool, callsPerMinute }) => {
    const minted = await fixture.mint(USE, callsPerMinute);
    const io = { env: { ATMO_TOKEN: minted.token, ATMO_URL: `http://${HOST}` }, fetch: fixture.hub.fetch.bind(fixture.hub) };
    return callerOf(fixture, minted, async () => {
      const { code, json, out, err } = await atmo(['call', `probe:${tool}`, '--json'], io);
      if (code === 0) return 'success';
      return out === '' ? (JSON.parse(err).error?.code ?? JSON.parse(err).code) : codeOf(json());
    });
  },
};

/** Calls as a program does that has the hub in its own process. */
const inProcess: Interface = {
  open: async (fixture, { tool, callsPerMinute }) => {
    const minted = await fixture.mint(USE, callsPerMinute);
    const { orchestrator } = fixture.hub.hub;
    const call = () => orchestrator.call({ token: minted.token, tool: `probe:${tool}`, params: {} });
    return callerOf(fixture, minted, () => call().then(codeOf, (error) => toAtmoError(error).code));
  },
};

const overMesh: Interface = {
  open: async (fixture, { tool, callsPerMinute }) => {
    const { hub } = await fixture.other();
    const { principal, tokenId } = await hub.bearer(USE, callsPerMinute);
    const forward = (name: string) => fixture.forward(hub, principal, name);
    const call = () => fixture.during(forward(tool)).then(() => 'success', remoteCodeOf);
    return { agentId: `${principal.id}@${hub.id}`, tokenId, call, hold: () => forward('held') };
  },
};

/** What another hub could take instead is an unavailable hub to the one that asked. */
export function remoteCodeOf(error: unknown): string {
  const { code, details } = toAtmoError(error);
  return typeof details.code === 'string' ? details.code : code;
}

/** Calls by an action of an automation, which has a token of its own that comes from a caller's. */
const byAutomation: Interface = {
  endsWithToken: true,
  open: async (fixture, { tool, callsPerMinute }) => {
    // To spawn is a call as well.
    const parent = await fixture.mint([...USE, 'agent:spawn'], callsPerMinute === undefined ? undefined : callsPerMinute + 1);
    const agentId = await fixture.automate(parent.token, `probe:${tool}`);
    let code: string | undefined;
    const call = async () => {
      // A run that waits for people goes on by itself.
      const begin = async () => {
        if (code !== 'APPROVAL_REQUIRED') fixture.clock.advance(10_000);
        return undefined;
      };
      code = await fixture.codeOfNextRow(agentId, begin);
      return code ?? (await fixture.statusOf(agentId));
    };
    return { ...callerOf(fixture, parent, call), agentId };
  },
};

/** Calls as a step of a tool that is composed of others, which judges the step before anything runs. */
const asStep: Interface = {
  isJudgedBefore: true,
  open: async (fixture, { tool, callsPerMinute }) => {
    // Of the two calls that one takes, the second is the one that is refused.
    const minted = await fixture.mint(USE, callsPerMinute === undefined ? undefined : 2 * callsPerMinute + 1);
    return callerOf(fixture, minted, async () => codeOf(await fixture.hub.call(`composed_${tool}`, {}, minted.token)));
  },
};

/** Calls as a step that takes a result of the step before it, so that it can be judged only when it is called. */
const asOpenStep: Interface = {
  isOpenStep: true,
  open: async (fixture, { tool, callsPerMinute }) => {
    const minted = await fixture.mint(USE, callsPerMinute === undefined ? undefined : 3 * callsPerMinute + 2);
    return callerOf(fixture, minted, async () => codeOf(await fixture.hub.call(`composed_open_${tool}`, {}, minted.token)));
  },
};

const inSequence: Interface = {
  isOpenStep: true,
  open: async (fixture, { tool, callsPerMinute }) => {
    const rate = callsPerMinute === undefined ? undefined : 3 * callsPerMinute + 2;
    const minted = await fixture.mint([...USE, 'sequence:run'], rate);
    const params = { steps: fixture.openSteps(tool) };
    return callerOf(fixture, minted, async () => {
      const answer = await fixture.hub.call('sequence', params, minted.token);
      return answer.result?.failed?.error.code ?? codeOf(answer);
    });
  },
};

/** Every way to a tool, by what a test says of it. */
export const INTERFACES: Readonly<Record<string, Interface>> = {
  'a call over HTTP': overHttp,
  'a job over HTTP': asJob,
  'a call of a model over HTTP': asModelCall,
  'a call over MCP': overMcp,
  'a call of atmo': overCli,
  'a call of a program that has the hub in its process': inProcess,
  'a call of another hub': overMesh,
  'an action of an automation': byAutomation,
  'a step of a composed tool': asStep,
  'a step that takes a result of the step before': asOpenStep,
  'a step of a sequence': inSequence,
};

function callerOf(fixture: InterfaceFixture, { agentId, tokenId, token }: Minted, call: () => Promise<string>): Caller {
  const hold = () => fixture.hub.hub.orchestrator.call({ token, tool: 'probe:held', params: {} });
  return { agentId, tokenId, call, hold };
}

function codeOf(answer: { readonly status?: unknown; readonly code?: string; readonly error?: { readonly code: string } }): string {
  return answer.status === 'success' ? 'success' : (answer.error?.code ?? answer.code ?? JSON.stringify(answer));
}
