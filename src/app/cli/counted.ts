// Numbers of things in words. Its own file because every line that counts needs the singular too.

/** `1 tree`, `2 trees`; `plural` where an s is not enough. */
export function counted(count: number, singular: string, plural = `${singular}s`): string {
  return `${count} ${count === 1 ? singular : plural}`;
}
