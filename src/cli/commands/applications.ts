import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import type { Command, Invocation } from '../command.ts';
import { objectsIn, resolveIdPrefix } from '../hub/answer-lists.ts';
import { textTable } from '../terminal/text-table.ts';
import { requestCommand } from '../tool-command.ts';

const PATH = '/api/v1/oauth/grants';
const HEADINGS = ['ID', 'APPLICATION', 'HOST', 'PERSON', 'AGENT', 'UNTIL', 'LAST USE', 'MAY'];

const list = requestCommand({
  name: 'applications',
  summary: 'the applications to which you gave access by signing in at the page; for the owner those of everybody',
  examples: ['applications', 'applications --json'],
  request: async (call) => ({ applications: await applications(call) }),
  text: ({ applications: all }) => textTable(HEADINGS, all.map(row)),
});

const end = requestCommand({
  name: 'applications end',
  summary: 'end the access of an application, with all its tokens, at once',
  examples: ['applications end 3f9a'],
  operands: [
    {
      name: 'ID',
      help: 'id of the access, as atmo applications lists it; its first characters are enough where they fit one',
      completes: 'application',
    },
  ],
  async request(call) {
    const all = await applications(call);
    const id = resolveIdPrefix(all.map(idOf), call.operand(0), { what: 'access', listedBy: 'atmo applications' });
    await call.hub.delete(`${PATH}/${encodeURIComponent(id)}`);
    const ended: JsonObject = { ...all.find((one) => idOf(one) === id), ended: true };
    return ended;
  },
  text: ({ client_name: name, agent_id: agent }) => `${name} (${agent}) has no access any more; its tokens have ended\n`,
});

/** The commands about applications with access by OAuth. */
export const applicationCommands: readonly Command[] = [list, end];

/** Returns what persons have given to applications. Throws NOT_SUPPORTED if the hub has no authorization server. */
async function applications({ hub }: Invocation): Promise<readonly JsonObject[]> {
  try {
    return objectsIn(await hub.get(PATH), 'grants');
  } catch (thrown) {
    if (!(thrown instanceof AtmoError && thrown.code === 'NOT_FOUND')) throw thrown;
    const message = 'This hub gives applications no access: http.oauth is false in its configuration, or it is older';
    throw new AtmoError('NOT_SUPPORTED', message, {}, { cause: thrown });
  }
}

function idOf({ id }: JsonObject): string {
  return String(id);
}

/** The name is what the application calls itself. The host is absent if the answer goes to a program on the machine of the browser, or to a device. */
function row(grant: JsonObject): readonly unknown[] {
  const { client_name: name, client_host: host, person, agent_id: agent, expires_at: until, last_used_at: used, permissions } = grant;
  return [idOf(grant), name, host ?? '-', person, agent, until, used ?? 'never', permissions];
}
