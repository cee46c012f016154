// SPDX-License-Identifier: MIT
import Refrain

/// The rows of the page, and since which version each is as it is. A pure value: no clock, no I/O.
///
/// A client that has seen a version is sent the rows that changed since. That is its whole queue:
/// however slow it is, a row waits for it at most once.
struct PageModel: Sendable {
  /// What changed since a version.
  struct Difference: Sendable {
    var version: UInt64
    /// Whether the client has to drop what it has: the rows are all rows.
    var isWhole: Bool
    var rows: [PageRow]
    var removed: [CacheKey]
  }

  /// The most removals remembered; a client that missed older ones is sent everything.
  static let mostRemovals = 2048

  private(set) var version: UInt64 = 1
  private var entries: [CacheKey: PageEntry] = [:]
  /// The row of each entry that belongs to a stream.
  private var roots: [CacheKey: CacheKey] = [:]
  /// The parts of each stream, in the order of their URLs, without the first manifest.
  private var parts: [CacheKey: [CacheKey]] = [:]
  /// The places of all parts in that order.
  private var places: [CacheKey: NaturalOrder] = [:]
  /// The strips of streams by their playlists.
  private var strips: [CacheKey: PagePlan.Strip] = [:]
  /// The streams that have changed since their strips were drawn.
  private var outdated: Set<CacheKey> = []
  private var rows: [CacheKey: (row: PageRow, version: UInt64)] = [:]
  private var removals: [(key: CacheKey, version: UInt64)] = []
  /// Removals up to this version are forgotten.
  private var forgotten: UInt64 = 0
  /// The disk space of all entries, in bytes.
  private(set) var disk: Int64 = 0

  var isEmpty: Bool { entries.isEmpty }
  var entryCount: Int { entries.count }
  var rowCount: Int { rows.count }

  subscript(key: CacheKey) -> PageEntry? { entries[key] }

  /// Returns the keys of all entries of a row.
  func keys(ofRow key: CacheKey) -> [CacheKey] {
    guard let parts = parts[key] else { return entries[key] == nil ? [] : [key] }
    return entries.keys.contains(key) ? [key] + parts : parts
  }

  // MARK: Changing

  /// Replaces everything by a new look at the directory.
  mutating func replaceAll(with all: [PageEntry]) {
    let keys = Set(all.map(\.key))
    apply(all, removing: entries.keys.filter { !keys.contains($0) })
  }

  /// Adopts changed entries, and removes others. A new version begins if a row changed.
  mutating func apply(_ changed: [PageEntry], removing removed: [CacheKey] = []) {
    var touched: Set<CacheKey> = []
    var regroups = false
    for key in removed {
      guard let old = entries.removeValue(forKey: key) else { continue }
      disk -= old.disk
      touched.insert(roots[key] ?? key)
      if old.stream != nil || roots[key] != nil { regroups = true }
    }
    for entry in changed {
      let old = entries.updateValue(entry, forKey: entry.key)
      disk += entry.disk - (old?.disk ?? 0)
      guard old != entry else { continue }
      if old == nil, !regroups, let root = join(entry) {
        touched.insert(root)
        continue
      }
      // A first manifest may arrive after its parts.
      if old?.stream != entry.stream || (old == nil && parts[entry.key] != nil) { regroups = true }
      touched.insert(roots[entry.key] ?? entry.key)
    }
    if regroups { touched.formUnion(regroup()) }
    update(touched)
  }

  /// Adds a new entry to the stream that it names, as most new entries are: one part after the other
  /// of what is being played.
  ///
  /// - Returns: the row of the stream; nil if more than that may change.
  private mutating func join(_ entry: PageEntry) -> CacheKey? {
    // Others may name this entry itself.
    guard let stream = entry.stream, stream != entry.key, parts[entry.key] == nil else {
      return nil
    }
    let root = roots[stream] ?? (entries[stream] == nil ? stream : nil)
    guard let root, let old = parts[root] else { return nil }
    roots[entry.key] = root
    let place = NaturalOrder(entry.key.rawValue)
    places[entry.key] = place
    let index = index(of: place, in: old)
    parts[root]?.insert(entry.key, at: index)
    return root
  }

  /// Returns the index of the first part that does not come before a place.
  private func index(of place: NaturalOrder, in keys: [CacheKey]) -> Int {
    var range = keys.indices
    while !range.isEmpty {
      let middle = range.lowerBound + range.count / 2
      if let other = places[keys[middle]], other < place {
        range = middle + 1..<range.upperBound
      } else {
        range = range.lowerBound..<middle
      }
    }
    return range.lowerBound
  }

  /// Brings the parts of a stream into order, beginning with their order so far.
  ///
  /// - Returns: nil if they are the same.
  private mutating func arrange(_ keys: [CacheKey], after old: [CacheKey]) -> [CacheKey]? {
    let (wanted, known) = (Set(keys), Set(old))
    let kept = old.filter(wanted.contains)
    var new: [(key: CacheKey, place: NaturalOrder)] = []
    for key in keys where !known.contains(key) {
      let place = NaturalOrder(key.rawValue)
      new.append((key, place))
    }
    guard !new.isEmpty || kept.count < old.count else { return nil }
    new.sort { $0.place < $1.place }
    var arranged: [CacheKey] = []
    arranged.reserveCapacity(keys.count)
    var next = 0
    for (key, place) in new {
      let end = index(of: place, in: kept)
      arranged += kept[next..<end]
      arranged.append(key)
      next = end
    }
    arranged += kept[next...]
    for (key, place) in new { places[key] = place }
    return arranged
  }

  /// Finds the stream of each entry.
  ///
  /// - Returns: the rows that may have changed by that.
  private mutating func regroup() -> Set<CacheKey> {
    let before = (roots, parts)
    let all = Array(entries.values)
    let found = StreamRoots(all) {
      $0.key
    } stream: {
      $0.stream
    }
    (roots, parts) = ([:], [:])
    for entry in all {
      guard let root = found.root(of: entry.key, stream: entry.stream) else { continue }
      roots[entry.key] = root
      if entry.key != root { parts[root, default: []].append(entry.key) }
    }
    // A manifest alone stays an entry.
    for (key, root) in roots where parts[root] == nil { roots[key] = nil }
    var touched: Set<CacheKey> = []
    for (root, keys) in parts {
      let old = before.1[root] ?? []
      if let arranged = arrange(keys, after: old) {
        parts[root] = arranged
        touched.insert(root)
      } else {
        parts[root] = old
      }
    }
    if places.count > parts.values.reduce(0, { $0 + $1.count }) {
      let all = Set(parts.values.joined())
      places = places.filter { all.contains($0.key) }
    }
    for root in before.1.keys where parts[root] == nil { touched.insert(root) }
    for (key, root) in before.0 where roots[key] != root { touched.formUnion([key, root]) }
    for (key, root) in roots where before.0[key] != root { touched.formUnion([key, root]) }
    return touched
  }

  private func row(_ key: CacheKey) -> PageRow? {
    if let keys = parts[key] {
      return PageRow(
        stream: key, manifest: entries[key], parts: keys.compactMap { entries[$0] },
        strip: strips[key])
    }
    // A part of a stream has no row of its own.
    if let root = roots[key], root != key { return nil }
    return entries[key].map { PageRow($0) }
  }

  private mutating func update(_ keys: Set<CacheKey>) {
    for key in keys {
      if parts[key] == nil {
        strips[key] = nil
        outdated.remove(key)
      } else {
        outdated.insert(key)
      }
    }
    refresh(keys)
  }

  private mutating func refresh(_ keys: Set<CacheKey>) {
    let next = version + 1
    var isNew = false
    for key in keys {
      if let row = row(key) {
        guard rows[key]?.row != row else { continue }
        rows[key] = (row, next)
      } else {
        guard rows.removeValue(forKey: key) != nil else { continue }
        removals.append((key, next))
      }
      isNew = true
    }
    guard isNew else { return }
    version = next
    guard removals.count > Self.mostRemovals else { return }
    let dropped = removals.count - Self.mostRemovals / 2
    forgotten = removals[dropped - 1].version
    removals.removeFirst(dropped)
  }

  // MARK: Strips of streams

  /// Returns streams that have changed since their strips were drawn, the most recently used first.
  /// They count as drawn from now on.
  mutating func takeOutdated(_ most: Int) -> [CacheKey] {
    let all = outdated.map { (key: $0, used: rows[$0]?.row.used ?? 0) }
    let taken = all.sorted { $0.used > $1.used }.prefix(most).map(\.key)
    outdated.subtract(taken)
    return taken
  }

  /// Draws the strip of a stream.
  ///
  /// - Returns: whether the stream has not changed since it was taken.
  mutating func draw(_ plan: PagePlan, of key: CacheKey) -> Bool {
    guard parts[key] != nil else { return false }
    let stored = entries
    strips[key] = plan.strip { stored[$0] }
    refresh([key])
    return !outdated.contains(key)
  }

  /// Returns marks of entries, which change with their contents; nil for each that is not stored.
  func marks(of keys: [CacheKey]) -> [PagePlan.Mark?] {
    keys.map { entries[$0].map { PagePlan.Mark(length: $0.length, stored: $0.stored) } }
  }

  // MARK: Showing

  /// - Parameter seen: the version that the client has; 0: none.
  /// - Returns: nil if nothing changed since.
  func difference(since seen: UInt64) -> Difference? {
    guard seen != version else { return nil }
    if seen == 0 || seen < forgotten {
      let all = rows.values.map(\.row).sorted {
        $0.used != $1.used ? $0.used > $1.used : $0.key.rawValue < $1.key.rawValue
      }
      return Difference(version: version, isWhole: true, rows: all, removed: [])
    }
    let changed = rows.values.filter { $0.version > seen }.map(\.row)
    // A removed row may be there again.
    let gone = removals.filter { $0.version > seen && rows[$0.key] == nil }.map(\.key)
    return Difference(version: version, isWhole: false, rows: changed, removed: gone)
  }
}
