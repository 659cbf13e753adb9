// Tells a change of "commands are decided here" the moment it is one. Its own file because several parts of the coordinator
// can bring it about and none of them knows all it depends on.

/** Returns what to call wherever the answer may have changed; `onChange` is called where it has. It begins as false. */
export function watchServing(isServing: () => boolean, onChange: ((serving: boolean) => void) | undefined): () => void {
  let wasServing = false;
  return () => {
    const serving = isServing();
    if (serving === wasServing) return;
    wasServing = serving;
    onChange?.(serving);
  };
}
