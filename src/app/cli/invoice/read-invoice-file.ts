// Reads a provider's CSV file (docs/invoices.md) a line at a time, so that its length costs no memory, and adds its lines up. All that
// is wrong in it is found before anything is said of its sums. CSV itself, with quoted fields as RFC 4180 has them, is the business
// of csv-parse; this file is loaded only by the command that needs it.
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { type CsvError, type Info, parse } from 'csv-parse';
import { type InvoiceColumns, invoiceColumnsOf } from '../../../pricing/invoice/invoice-columns.ts';
import { invoiceLineOf } from '../../../pricing/invoice/invoice-line.ts';
import {
  createInvoiceSums,
  INVOICE_SUMS_MAX,
  type InvoiceSums,
  type ModelSum,
} from '../../../pricing/invoice/invoice-sums.ts';
import { Utf8Lines } from '../../read-text.ts';

/** Longer than any line of an export. A quote that nobody closes takes no more of the file than this. */
const LINE_BYTES_MAX = 65_536;
/** As many are told one by one; nobody reads more, and a file of another kind is wrong in every line. */
const PROBLEMS_SHOWN_MAX = 100;

/** How to read a file. */
export interface InvoiceFileOptions {
  /** Provider of lines that name none; undefined: each line must. */
  readonly provider: string | undefined;
  /** Only lines of this month count; undefined: all. The others must be right too. */
  readonly month: string | undefined;
}

/** One thing that is wrong. */
export interface InvoiceProblem {
  /** From 1: where the line begins. */
  readonly line: number;
  readonly text: string;
}

/** What a file says. */
export interface InvoiceFile {
  readonly sums: readonly ModelSum[];
  /** Lines that count. */
  readonly lineCount: number;
  /** Lines of other months than the one asked for. */
  readonly otherMonthCount: number;
  /** The first of what is wrong, by line; where there is any, the sums mean nothing. */
  readonly problems: readonly InvoiceProblem[];
  readonly problemCount: number;
}

/** Reads a file; "-" is the standard input. Throws the error of the system where it can't be read. */
export async function readInvoiceFile(path: string, options: InvoiceFileOptions): Promise<InvoiceFile> {
  return readInvoice(path === '-' ? process.stdin : createReadStream(path), options);
}

interface CsvRecord {
  readonly record: readonly string[];
  readonly info: Info;
}

/** Reads CSV from a stream of bytes. */
export async function readInvoice(input: Readable, options: InvoiceFileOptions): Promise<InvoiceFile> {
  const reading = new InvoiceReading(options);
  const parser = parse({
    bom: true,
    info: true,
    record_delimiter: ['\r\n', '\n', '\r'],
    // Their number of fields, and empty lines, are judged with the rest of a line.
    relax_column_count: true,
    skip_records_with_error: true,
    max_record_size: LINE_BYTES_MAX,
    on_skip: (error) => {
      if (error !== undefined) reading.skip(error);
      return undefined;
    },
  });
  input.on('error', (error) => parser.destroy(error));
  // The parser would read another character in the place of bytes that are none.
  const utf8 = new Utf8Lines();
  input.on('data', (bytes: Buffer) => reading.refuseBytes(utf8.add(bytes)));
  input.on('end', () => reading.refuseBytes(utf8.end()));
  try {
    for await (const { record, info } of input.pipe(parser) as AsyncIterable<CsvRecord>) {
      if (!reading.read(record, info.lines)) break;
    }
  } finally {
    input.destroy();
  }
  return reading.end();
}

/** One pass over a file: it begins with the header, and ends with the last line or where the rest can't be read. */
class InvoiceReading {
  readonly #options: InvoiceFileOptions;
  readonly #sums: InvoiceSums = createInvoiceSums();
  readonly #problems: InvoiceProblem[] = [];
  #problemCount = 0;
  #columns: InvoiceColumns | undefined;
  #lineCount = 0;
  #otherMonthCount = 0;
  /** Where the last record ended that was read or skipped. */
  #endLine = 0;
  /** The first line that could not be made out, and why. What the parser gives after it is not to be trusted. */
  #broken: { readonly line: number; readonly text: string } | undefined;

  constructor(options: InvoiceFileOptions) {
    this.#options = options;
  }

  /** Takes a record that ended in a line; false where no more is wanted. */
  read(values: readonly string[], endLine: number): boolean {
    if (this.#broken !== undefined && endLine >= this.#broken.line) return false;
    const line = endLine - lineBreakCount(values);
    this.#endLine = Math.max(this.#endLine, endLine);
    if (values.length === 1 && values[0]?.trim() === '') return true;
    if (this.#columns === undefined) return this.#readHeader(values, line);
    const { line: read, problems } = invoiceLineOf(this.#columns, values, this.#options.provider);
    for (const text of problems ?? []) this.#report(line, text);
    if (read === undefined) return true;
    if (this.#options.month !== undefined && read.month !== this.#options.month) {
      this.#otherMonthCount += 1;
      return true;
    }
    this.#lineCount += 1;
    if (this.#sums.add(read)) return true;
    this.#report(line, `is of one model more than ${INVOICE_SUMS_MAX}: does this column name models?`);
    return false;
  }

  /** Takes a record that the parser left out. It tells of it before it gives the records that came before. */
  skip(error: CsvError): void {
    const line = Number(error['lines']);
    if (this.#broken !== undefined) return;
    if (error.code === 'INVALID_OPENING_QUOTE') {
      this.#endLine = Math.max(this.#endLine, line);
      this.#report(line, 'has a quote inside a field that is not quoted');
    } else this.#broken = { line, text: textOf(error) };
  }

  /** Takes the numbers of lines that are not UTF-8. */
  refuseBytes(lines: readonly number[]): void {
    for (const line of lines) this.#report(line, 'is not UTF-8');
  }

  end(): InvoiceFile {
    if (this.#broken !== undefined) this.#report(this.#endLine + 1, `${this.#broken.text}; the rest was not read`);
    else if (this.#columns === undefined && this.#problemCount === 0) this.#report(1, 'names no columns: it is empty');
    return {
      sums: this.#sums.sums(),
      lineCount: this.#lineCount,
      otherMonthCount: this.#otherMonthCount,
      problems: this.#problems.toSorted((a, b) => a.line - b.line),
      problemCount: this.#problemCount,
    };
  }

  #readHeader(values: readonly string[], line: number): boolean {
    const { columns, problems } = invoiceColumnsOf(values);
    for (const text of problems ?? []) this.#report(line, text);
    this.#columns = columns;
    return columns !== undefined;
  }

  #report(line: number, text: string): void {
    this.#problemCount += 1;
    if (this.#problems.length < PROBLEMS_SHOWN_MAX) this.#problems.push({ line, text });
  }
}

/** Lines that quoted fields go over. */
function lineBreakCount(values: readonly string[]): number {
  let count = 0;
  for (const value of values) {
    if (value.includes('\n') || value.includes('\r')) count += value.split(/\r\n|\n|\r/).length - 1;
  }
  return count;
}

function textOf({ code, message }: CsvError): string {
  switch (code) {
    case 'CSV_INVALID_CLOSING_QUOTE':
      return 'has text behind the closing quote of a field';
    case 'CSV_QUOTE_NOT_CLOSED':
      return 'has a quote that is never closed';
    case 'CSV_MAX_RECORD_SIZE':
      return `is longer than ${LINE_BYTES_MAX} bytes: is a quote not closed?`;
    default:
      return `is no CSV (${message})`;
  }
}
