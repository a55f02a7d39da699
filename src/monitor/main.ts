import { Monitor } from './app.ts';
import { Shell } from './shell.ts';

customElements.define('atmo-shell', Shell);
const shell = document.querySelector<Shell>('atmo-shell');
if (shell) {
  const app = new Monitor((end) => shell.tellEnd(end));
  await app.start();
  shell.app = app;
}
