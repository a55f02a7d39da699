import { userInfo } from 'node:os';
import { AtmoError } from '../../core/errors.ts';
import { type Command, type Invocation, usage } from '../command.ts';
import { openPrivately } from '../page/page-opener.ts';
import { pageLink, pageLogin } from '../page-login.ts';
import { isLoopback } from '../state-dir.ts';
import { type Block, paragraph } from '../terminal/page.ts';
import { qrPicture } from '../terminal/qr-picture.ts';

export const monitor: Command = {
  name: 'monitor',
  summary: 'the address of the monitor page, with a link that signs you in',
  options: {
    open: { help: 'open it in the browser of this machine; the link is not shown' },
    qr: { help: 'show the link as a QR code too, for a phone' },
  },
  examples: ['monitor', 'monitor --open', 'monitor --qr'],
  async run(call) {
    if (call.isSet('open') && call.isSet('qr')) throw usage('Use either --open or --qr, not both');
    await requirePage(call);
    const here = call.hub.url;
    const url = call.isSet('qr') ? await addressForOthers(call) : here;
    const login = await pageLogin(call.hub, call.io.env);
    const link = pageLink(url, login);
    if (call.isSet('open')) return openHere(call, link);
    const picture = call.isSet('qr') && !call.output.isJson ? await qrPicture(link) : '';
    const answer = { url, link, person: login.person ?? null, may_approve: login.key !== undefined };
    // In a pipe the link alone, so that a script can take it.
    call.output.answer(answer, () => (call.output.isTerminal ? [picture, `\n${link}\n\n`, ...advice(call, url)] : `${link}\n`));
    if (!call.output.isJson && !call.output.isTerminal) call.output.note(SECRET);
    return undefined;
  },
};

const SECRET =
  'Whoever has this link can do what you can: open it yourself and show it to nobody. It is not kept anywhere; "atmo monitor" makes another.';

/** A hub that was started from sources that nobody built has no page. */
async function requirePage({ hub }: Invocation): Promise<void> {
  try {
    await (await hub.stream('/', {}, { accept: 'text/html' })).body?.cancel();
  } catch (error) {
    if (!(error instanceof AtmoError) || error.code !== 'NOT_FOUND') throw error;
    throw new AtmoError(
      'NOT_FOUND',
      'This hub has no monitor page: build it with "npm run build" in the checkout, then start the hub anew',
    );
  }
}

async function addressForOthers({ hub }: Invocation): Promise<string> {
  if (!isLoopback(hub.url)) return hub.url;
  const { enabled, url } = await hub.get('/api/v1/tls');
  if (enabled === true && typeof url === 'string') return url;
  throw usage(`A phone cannot reach ${hub.url}; let the hub answer in your network first: http.host in its config.yaml, or ATMO_HTTP_HOST`);
}

async function openHere(call: Invocation, link: string): Promise<undefined> {
  const { env, openFile } = call.io;
  if (!openFile || !(env.DISPLAY || env.WAYLAND_DISPLAY))
    throw usage('There is no screen here to open a browser on; run "atmo monitor" and open the link that it shows');
  await openPrivately(link, openFile, call.io);
  call.output.answer({ url: call.hub.url, opened: true }, () => `${call.hub.url} is open in your browser\n`);
}

function advice(call: Invocation, url: string): readonly Block[] {
  const { env } = call.io;
  const tunnel = isLoopback(url) && env.SSH_CONNECTION ? [paragraph(tunnelAdvice(url, env)), paragraph('')] : [];
  return [...tunnel, paragraph(SECRET, { tone: 'quiet' })];
}

/** The link keeps its address when the port is the same at both ends. */
function tunnelAdvice(url: string, env: Invocation['io']['env']): string {
  const { port } = new URL(url);
  const [, , host = 'HOST'] = (env.SSH_CONNECTION ?? '').split(' ');
  const user = env.USER || userInfo().username;
  return `You are here over SSH. On your own machine run "ssh -N -L ${port}:127.0.0.1:${port} ${user}@${host}", then open the link there.`;
}
