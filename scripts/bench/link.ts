/** What the control stream between hubs takes for a request, against a libp2p stream for each. */
export { controlStream as run } from './mesh-echo.ts';
