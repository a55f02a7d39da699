import { Monitor } from './app.ts';
import './page-elements.ts';
import { Shell } from './shell.ts';

customElements.define('atmo-shell', Shell);
const app = new Monitor();
await app.start();
const shell = document.querySelector<Shell>('atmo-shell');
if (shell) shell.app = app;
