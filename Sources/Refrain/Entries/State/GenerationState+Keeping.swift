// SPDX-License-Identifier: MIT

/// Responses that the origin forbids to store (`no-store`, RFC 9111 §5.2.2.5).
///
/// A person who pins a group asks for it to play without the origin, which it cannot without its
/// documents and keys. A cache for one person stores them then, as a browser saves a page on
/// request. They are revalidated before each use while the origin can be reached, and removed with
/// the pin. A cache for several people stores nothing of the kind: the pin of one is not the wish of
/// the others.
///
/// A pin needs stored bytes, so they are stored first, for the wish of a reader
/// (`ResourcePolicy.Group.isKept`). The pin on disk decides what stays: when the entry is closed without
/// one, because the download was refused or cancelled or another process has unpinned it, the
/// response is removed; what a process left that ended suddenly is not used (`EntryStorage`).
extension GenerationState {
  /// Whether the response may not be stored.
  var isForbidden: Bool { freshness?.noStore == true && !storage.ignoresNoStore }

  /// Stores no more of a response that the origin forbids to store.
  mutating func obeyNoStore() {
    storage.obeyNoStore()
    if isForbidden { storage.forbid(.forGood, .forbidden) }
  }
}
