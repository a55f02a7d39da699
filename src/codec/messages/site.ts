import {
  bytes,
  hex,
  hubId,
  list,
  listed,
  message,
  messageCodec,
  optional,
  required,
  signedCodec,
  text,
  tuple,
  uint,
  type ValueOf,
} from '../message-schema.ts';
import { MAX_ANNOUNCEMENT_BYTES } from './announcement.ts';
import { CERTIFICATE_CHAIN, SITE } from './membership.ts';

/** Maximum length of a signed site summary in bytes. */
export const MAX_SUMMARY_BYTES = 4_096;
/** Maximum number of summaries that a hub stores and lists. */
export const MAX_SUMMARIES = 2_048;
/** Maximum length of the filter of a summary in bytes. */
export const MAX_FILTER_BYTES = 2_304;
/** Maximum number of border members that a summary names. */
export const MAX_BORDERS = 4;
/** Maximum number of words of a lookup. */
export const MAX_LOOKUP_WORDS = 16;

const BORDER = tuple({
  id: required(0, hubId),
  /** Addresses as `host:port`, best address first. */
  addresses: required(1, list(text({ max: 261 }), { max: 2 })),
});

const FILTER = message({
  /** Number of bits that each word sets. */
  hashes: required(1, uint({ min: 1, max: 16 })),
  bits: required(2, bytes({ min: 1, max: MAX_FILTER_BYTES })),
});

/** Bloom filter of the words of a site. */
export type WordFilter = ValueOf<typeof FILTER>;

const SUMMARY = message({
  site: required(1, SITE),
  /** Border member that signs the summary. */
  hubId: required(2, hubId),
  /** Epoch of the border member's announcements: how often it has started. */
  epoch: required(3, uint()),
  /** How many summaries the border member has made since its start. */
  sequence: required(4, uint()),
  /** Time by the border member's clock, in milliseconds since 1970. */
  timeMs: required(5, uint()),
  /** Seconds for which the summary is valid after its receipt. */
  ttlSeconds: required(6, uint({ min: 1, max: 86_400 })),
  certificate: required(7, CERTIFICATE_CHAIN),
  /** Present border members of the site, the signer among them. */
  borders: required(8, list(BORDER, { min: 1, max: MAX_BORDERS })),
  /** Number of hubs in the site. */
  hubs: required(9, uint({ max: 4_096 })),
  filter: required(10, FILTER),
});

/** Summary of a site: its border members, and a filter of the words that its hubs announce. It contains no names of tools or devices. */
export type SiteSummary = ValueOf<typeof SUMMARY>;

/** Codec of a signed site summary (COSE_Sign1). */
export const siteSummaryCodec = signedCodec(
  messageCodec('SiteSummary', SUMMARY, { maxBytes: MAX_SUMMARY_BYTES - 80, maxDepth: 4, maxItems: 64 }),
  'atmosphere-edge site summary v1',
);

/** Wire type of a summary's name: the first 8 bytes of its SHA-256, in hex. */
const SUMMARY_NAME = hex({ min: 8, max: 8 });
const NAMES = list(SUMMARY_NAME, { max: MAX_SUMMARIES });

const EXCHANGE_REQUEST = message({
  /** Site of the sender. */
  site: required(1, SITE),
  /** First 8 bytes, in hex, of the SHA-256 of the sorted names of the sender's summaries. */
  digest: required(2, SUMMARY_NAME),
  /** Summaries that are new to the sender, and that the receiver may request. */
  offered: listed(3, NAMES),
  /** Summaries that the receiver has offered, and that it must send. */
  wanted: listed(4, NAMES),
  /** Every summary of the sender. The receiver sends those that are not among them. */
  known: optional(5, NAMES),
});

const EXCHANGE_ANSWER = message({
  site: required(1, SITE),
  digest: required(2, SUMMARY_NAME),
  summaries: listed(3, list(bytes({ min: 1, max: MAX_SUMMARY_BYTES }), { max: MAX_SUMMARIES })),
});

/** Request of one hub to compare summaries with a connected hub. */
export type SummaryRequest = ValueOf<typeof EXCHANGE_REQUEST>;

/** Codec of the request to compare summaries. */
export const summaryRequestCodec = messageCodec('SummaryRequest', EXCHANGE_REQUEST, {
  maxBytes: 65_536,
  maxDepth: 2,
  maxItems: 16 + 3 * MAX_SUMMARIES,
});
/** Codec of the answer with summaries; decoding verifies no signature. */
export const summaryAnswerCodec = messageCodec('SummaryAnswer', EXCHANGE_ANSWER, {
  maxBytes: 4_194_304,
  maxDepth: 2,
  maxItems: 8 + MAX_SUMMARIES,
});

const LOOKUP_REQUEST = message({
  /** Site whose hubs are looked up. */
  site: required(1, SITE),
  /** Words as a summary's filter has them. */
  words: required(2, list(text({ max: 256 }), { min: 1, max: MAX_LOOKUP_WORDS })),
  /** Maximum number of hubs that may still forward the lookup. */
  hopsLeft: required(3, uint({ max: 16 })),
});

const LOOKUP_ANSWER = message({
  /** Announcements of the hubs that match, with their original signatures. Those of one hub are sorted from oldest to newest. */
  envelopes: listed(1, list(bytes({ min: 1, max: MAX_ANNOUNCEMENT_BYTES }), { max: 4_096 })),
  /** Answers with blobs: the definitions and pages that these announcements name. */
  blobs: listed(2, list(bytes({ min: 1, max: 3_145_728 }), { max: 32 })),
});

/** Lookup of the hubs of another site that match words. */
export type SiteLookup = ValueOf<typeof LOOKUP_REQUEST>;
/** Answer to a lookup. */
export type SiteLookupAnswer = ValueOf<typeof LOOKUP_ANSWER>;

/** Codec of a lookup. */
export const lookupRequestCodec = messageCodec('SiteLookup', LOOKUP_REQUEST, { maxBytes: 8_192, maxDepth: 2, maxItems: 24 });
/** Codec of the answer to a lookup; decoding verifies no signature. */
export const lookupAnswerCodec = messageCodec('SiteLookupAnswer', LOOKUP_ANSWER, { maxBytes: 4_194_304, maxDepth: 2, maxItems: 4_144 });
