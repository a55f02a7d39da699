import { AtmoError } from '../../core/errors.ts';
import { type Command, usage } from '../command.ts';
import { trustAuthority } from '../hub/hub-trust.ts';
import { hubUrl } from '../state-dir.ts';
import { qrPicture } from '../terminal/qr-picture.ts';
import { textPairs } from '../terminal/text-table.ts';

const SHA256 = /^([0-9a-f]{2}:?){32}$/i;

const show: Command = {
  name: 'tls',
  summary: 'how other machines reach the hub over TLS: address, fingerprint to compare, QR of the certificate to trust',
  examples: ['tls', 'tls --json'],
  async run({ hub, output }) {
    const facts = await hub.get('/api/v1/tls');
    const url = String(facts.url);
    if (facts.enabled !== true) {
      output.answer(facts, () => `No other machine reaches the hub: it listens on ${url} alone. Set ATMO_HTTP_HOST to 0.0.0.0 for TLS\n`);
      return undefined;
    }
    const certificate = facts.source === 'own_authority' ? `${url}/ca.crt` : undefined;
    const picture = certificate === undefined || output.isJson ? '' : await qrPicture(certificate);
    output.answer({ ...facts, certificate_url: certificate }, () => {
      const pairs = {
        address: url,
        fingerprint: facts.fingerprint_sha256,
        certificate: certificate ?? "the owner's own",
        names: Array.isArray(facts.names) ? facts.names.join(', ') : '',
        ends: facts.certificate_ends_at,
        elsewhere: `ATMO_URL=${url} atmo tls trust ${facts.fingerprint_sha256}`,
      };
      return [picture, '\n', textPairs(pairs)];
    });
    return undefined;
  },
};

const trust: Command = {
  name: 'tls trust',
  summary: 'trust the hub at ATMO_URL from now on, if its fingerprint is the one that "atmo tls" shows there',
  examples: ['tls trust AB:CD:…'],
  operands: [{ name: 'FINGERPRINT', help: 'SHA-256, as "atmo tls" shows it on the hub' }],
  async run({ io, operands: [fingerprint = ''], output }) {
    if (!SHA256.test(fingerprint)) throw usage('FINGERPRINT has to be 32 bytes in hexadecimal, as "sudo atmo tls" shows it on the hub');
    const url = new URL(hubUrl(io.env));
    if (url.protocol !== 'https:') {
      throw new AtmoError('VALIDATION_ERROR', `ATMO_URL has to name the hub, such as https://hub.local:8081; it is ${url.origin}`);
    }
    const file = await trustAuthority(io.env, url, fingerprint);
    output.answer({ url: url.origin, fingerprint, file }, () => `${url.origin} is trusted; its authority is in ${file}\n`);
    return undefined;
  },
};

/** What people need to reach the hub from other machines. */
export const tlsCommands: readonly Command[] = [show, trust];
