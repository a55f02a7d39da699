import { toAtmoError } from '../../core/errors.ts';
import { type Command, type Invocation, usage } from '../command.ts';
import { McpBridge } from '../mcp/mcp-bridge.ts';
import { AgentCredential, givenCredential, HOME_PERMISSIONS } from '../mcp/mcp-credential.ts';
import { type McpCredential, McpDoor } from '../mcp/mcp-door.ts';
import { hubUrl } from '../state-dir.ts';

const AREA = /^areas\/(.+)$/;

export const mcp: Command = {
  name: 'mcp',
  summary: 'speak MCP with an agent over stdin and stdout, with a token of the agent alone',
  examples: ['mcp --agent claude', 'mcp --agent reader --allow sensor:read:* --view areas/kitchen'],
  options: {
    agent: { value: 'NAME', help: 'make a token for this agent once, keep and renew it; without it ATMO_TOKEN counts' },
    allow: { value: 'PERMISSION', help: 'what --agent may do instead of using the whole home; may be repeated', isRepeated: true },
    view: { value: 'VIEW', help: 'devices or areas/AREA: every tool, typed, instead of the dozen that find and run them' },
  },
  async run(call) {
    const credential = credentialOf(call);
    await requireCredential(credential, call);
    const door = new McpDoor({ url: hubUrl(call.io.env), path: pathOf(call.text('view')), fetch: call.io.fetch, credential });
    await new McpBridge({ door, stdin: call.io.stdin, stdout: call.io.stdout }).run();
    return undefined;
  },
};

function credentialOf(call: Invocation): McpCredential {
  const name = call.text('agent');
  const allowed = call.texts('allow').flatMap((text) => text.split(','));
  if (name === undefined && allowed.length > 0) throw usage('--allow says what --agent may do; ATMO_TOKEN says itself what it may');
  if (name === undefined) return givenCredential(call.io.env);
  const note = (text: string) => call.output.note(text);
  return new AgentCredential({ io: call.io, note }, name, allowed.length > 0 ? allowed : HOME_PERMISSIONS);
}

/** A hub that is down comes back; a right that is missing does not come by waiting, and is told while somebody looks. */
async function requireCredential(credential: McpCredential, { output }: Invocation): Promise<void> {
  try {
    await credential.token();
  } catch (thrown) {
    const error = toAtmoError(thrown);
    if (error.code !== 'HUB_UNREACHABLE') throw thrown;
    output.note(error.message);
  }
}

function pathOf(view: string | undefined): string {
  if (view === undefined) return '/mcp';
  if (view === 'devices') return '/mcp/devices';
  const area = AREA.exec(view)?.[1];
  if (area !== undefined) return `/mcp/areas/${encodeURIComponent(area)}`;
  throw usage(`--view takes devices or areas/AREA, such as areas/kitchen, not ${JSON.stringify(view)}`);
}
