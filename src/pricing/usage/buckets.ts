// Taking totals apart into buckets that no token is in twice. Shared by the adapters, since providers differ in where their
// counts stand and not in what must hold between them.
import { fault, type Report } from './report.ts';
import type { Usage } from './usage.ts';

/** Counts of nothing. */
export const NO_COUNTS: Usage = {
  uncachedInput: 0n,
  cacheRead: 0n,
  cacheWrite5m: 0n,
  cacheWrite1h: 0n,
  audioInput: 0n,
  audioCacheRead: 0n,
  output: 0n,
  audioOutput: 0n,
  webSearches: 0n,
  fileSearches: 0n,
};

const BOTH_SEARCHES = ['webSearches', 'fileSearches'] as const;

/** Usage of nothing, as of a report that tells of no searches; adapters name the buckets that they fill, and what they do tell. */
export const NO_USAGE: Usage = { ...NO_COUNTS, untoldSearches: BOTH_SEARCHES };

/** Input as most providers report it: a total, and what of it was cached or audio. */
export interface InputTotals {
  /** All input: text, audio, read and written. */
  readonly total: bigint;
  readonly cacheRead: bigint;
  readonly cacheWrite5m: bigint;
  readonly cacheWrite1h: bigint;
  /** Audio, read from a cache or not. */
  readonly audio: bigint;
  /** Audio read from a cache, within cacheRead; undefined where the report does not say. */
  readonly audioCacheRead: bigint | undefined;
}

type InputBuckets = Pick<
  Usage,
  'uncachedInput' | 'cacheRead' | 'cacheWrite5m' | 'cacheWrite1h' | 'audioInput' | 'audioCacheRead'
>;

type OutputBuckets = Pick<Usage, 'output' | 'audioOutput'>;

/** The buckets of a total. Parts that are more than the whole are a fault, and so is audio that may or may not have been cached. */
export function splitInput(report: Report, totals: InputTotals): InputBuckets {
  const { total, cacheRead, cacheWrite5m, cacheWrite1h, audio } = totals;
  const isUnsplit = audio > 0n && cacheRead > 0n && totals.audioCacheRead === undefined;
  if (isUnsplit || (audio > 0n && cacheWrite5m + cacheWrite1h > 0n)) {
    fault(report.faults, 'unsupported_modality', report.path, 'does not say how much of the audio was cached');
  }
  const audioCacheRead = totals.audioCacheRead ?? 0n;
  const audioInput = without(audio, audioCacheRead);
  const textRead = without(cacheRead, audioCacheRead);
  const text = without(without(total, cacheRead), audioInput);
  const uncachedInput = without(without(text, cacheWrite5m), cacheWrite1h);
  if (audioInput < 0n || textRead < 0n || uncachedInput < 0n) {
    fault(report.faults, 'inconsistent_usage', report.path, 'has parts of the input that are more than the whole');
  }
  return { uncachedInput, cacheRead: textRead, cacheWrite5m, cacheWrite1h, audioInput, audioCacheRead };
}

// A difference is a number of its own in memory, and most of what is taken away is 0.
function without(whole: bigint, part: bigint): bigint {
  return part === 0n ? whole : whole - part;
}

/** Text and audio of an output total. */
export function splitOutput(report: Report, total: bigint, audio: bigint): OutputBuckets {
  if (audio > total) {
    fault(report.faults, 'inconsistent_usage', report.path, 'has audio output that is more than all output');
  }
  return { output: without(total, audio), audioOutput: audio };
}

/** Usage of input and output, of a report that tells of no searches. One literal: several laid over each other are copied field by field. */
export function usageOf(input: InputBuckets, { output, audioOutput }: OutputBuckets): Usage {
  const { uncachedInput, cacheRead, cacheWrite5m, cacheWrite1h, audioInput, audioCacheRead } = input;
  return {
    uncachedInput,
    cacheRead,
    cacheWrite5m,
    cacheWrite1h,
    audioInput,
    audioCacheRead,
    output,
    audioOutput,
    webSearches: 0n,
    fileSearches: 0n,
    untoldSearches: BOTH_SEARCHES,
  };
}

/**
 * Cache writes by the life of the cache. A split must come to the total. Where there is none, the life that the request asked
 * for decides: all but "5m" counts as the dearer one, and a request that asked for nothing got five minutes.
 */
export function splitWrites(
  report: Report,
  total: bigint | undefined,
  fiveMinutes: bigint | undefined,
  other: bigint | undefined,
  cacheTtl: string | undefined,
): Pick<Usage, 'cacheWrite5m' | 'cacheWrite1h'> {
  if (fiveMinutes === undefined && other === undefined) {
    const all = total ?? 0n;
    const isFive = cacheTtl === undefined || cacheTtl === '5m';
    return isFive ? { cacheWrite5m: all, cacheWrite1h: 0n } : { cacheWrite5m: 0n, cacheWrite1h: all };
  }
  const cacheWrite5m = fiveMinutes ?? 0n;
  const cacheWrite1h = other ?? 0n;
  if (total !== undefined && cacheWrite5m + cacheWrite1h !== total) {
    fault(report.faults, 'inconsistent_usage', report.path, 'has cache writes that do not come to their total');
  }
  return { cacheWrite5m, cacheWrite1h };
}

/**
 * Two fields for one count, of which a version of the report may fill either: the one that is there, or above 0. Two different
 * counts above 0 are a fault.
 */
export function eitherCount(
  report: Report,
  a: bigint | undefined,
  b: bigint | undefined,
  text: string,
): bigint | undefined {
  if (a === undefined || b === undefined || a === b) return a ?? b;
  if (a > 0n && b > 0n) fault(report.faults, 'inconsistent_usage', report.path, text);
  return a > b ? a : b;
}
