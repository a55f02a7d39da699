/** A host that announces itself and listens: `discovery-program.ts ID`; tells JSON lines, ends with a goodbye on SIGTERM. */

import { systemClock } from '../../../src/core/clock.ts';
import { createLogger } from '../../../src/core/logger.ts';
import { DnsSd } from '../../../src/mesh/discovery/dns-sd.ts';
import { HUB_SERVICE_TYPE } from '../../../src/mesh/discovery/hub-discovery.ts';
import { InterfaceWatch } from '../../../src/mesh/discovery/network-interfaces.ts';

const [id = ''] = process.argv.slice(2);
const logger = createLogger('warn');
const tell = (line: object) => process.stdout.write(`${JSON.stringify({ ...line, atMs: Date.now() })}\n`);

const watch = new InterfaceWatch({ clock: systemClock, logger, names: [] });
const dnsSd = new DnsSd({ clock: systemClock, logger, watch, hostLabel: id });
tell({ started: id });
await watch.start();
await dnsSd.start();
const ear = { found: (service: object) => tell({ found: service }), lost: (name: string) => tell({ lost: name }) };
dnsSd.browse(HUB_SERVICE_TYPE, ear, new AbortController().signal);
dnsSd.advertise({ name: id, type: HUB_SERVICE_TYPE, port: 8082, txt: { v: '1' } });
tell({ ready: id });

// Without an interface nothing else keeps the program running.
const life = setInterval(() => {}, 60_000);
process.once('SIGTERM', async () => {
  clearInterval(life);
  await dnsSd[Symbol.asyncDispose]();
  await watch[Symbol.asyncDispose]();
  tell({ drops: dnsSd.drops() });
});
