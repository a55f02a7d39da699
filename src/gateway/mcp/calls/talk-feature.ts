import type { McpFeature } from '../mcp-feature.ts';
import type { AskingCalls } from './asking-calls.ts';

/** Tools tell clients what they do (`notifications/message`); what waits for answers of clients ends with the server. */
export function talkFeature(asking: AskingCalls): McpFeature {
  // The SDK itself keeps the level that a session wants to hear (`logging/setLevel`), and each request of 2026-07-28 names its own.
  return { capabilities: { logging: {} }, methods: {}, close: () => asking[Symbol.dispose]() };
}
