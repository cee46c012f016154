// SPDX-License-Identifier: MIT
import Refrain

/// What the stored playlists of a stream name, in their order, for the strip of its row. A pure
/// value.
struct PagePlan: Sendable {
  /// A resource, or a range of one.
  struct Part: Sendable, Hashable {
    /// The keys under which it may be stored: the first one with an entry counts.
    var keys: [CacheKey]
    /// Nil: all of the resource.
    var range: ByteRange?
  }

  /// A state of a stored manifest: another one has other contents.
  struct Mark: Sendable, Hashable {
    var length: Int64?
    var stored: Int64
  }

  /// The parts of a stream that are stored, being fetched and read, by their places.
  struct Strip: Sendable, Hashable {
    /// The number of parts.
    var length: Int64 = 0
    /// The number of those that are stored whole.
    var whole: Int64 = 0
    var spans: [ByteRange] = []
    var fetching: [ByteRange] = []
    var readers: [Int64] = []
  }

  /// The most parts of a plan, unless the first variant alone has more.
  static let mostParts = 100_000

  /// The keys under which the manifests are, or would be, stored.
  var manifests: [CacheKey]
  /// One after the other: one of HLS, one for each period of DASH. Each has variants, of which the
  /// most complete one counts.
  private(set) var sections: [[[Part]]] = []
  /// The number of parts of all variants.
  private(set) var count = 0

  init(manifests: [CacheKey]) { self.manifests = manifests }

  /// Whether the parts of the stream are known.
  var isKnown: Bool { !sections.isEmpty }

  /// Appends a section. Variants without parts are left out, and those for which there is no room.
  mutating func append(_ variants: [[Part]]) {
    var section: [[Part]] = []
    for variant in variants where !variant.isEmpty {
      guard section.isEmpty || count + variant.count <= Self.mostParts else { break }
      section.append(variant)
      count += variant.count
    }
    if !section.isEmpty { sections.append(section) }
  }

  /// - Parameter entry: returns what is stored under a key.
  /// - Returns: nil if the parts are unknown.
  func strip(_ entry: (CacheKey) -> PageEntry?) -> Strip? {
    guard isKnown else { return nil }
    var strip = Strip()
    for section in sections {
      var best: Strip?
      for variant in section {
        let other = Self.strip(of: variant, entry)
        if best.map({ other.isMoreComplete(than: $0) }) ?? true { best = other }
      }
      if let best { strip.append(best) }
    }
    return strip
  }

  private static func strip(of parts: [Part], _ entry: (CacheKey) -> PageEntry?) -> Strip {
    var strip = Strip()
    strip.length = Int64(parts.count)
    for (index, part) in parts.enumerated() {
      guard let entry = stored(part, entry) else { continue }
      let place = Int64(index)
      if part.isWhole(in: entry) {
        strip.whole += 1
        strip.spans.extend(by: place..<place + 1)
      }
      if entry.fetching.contains(where: { part.range?.overlaps($0) ?? true }) {
        strip.fetching.extend(by: place..<place + 1)
      }
      if entry.readers.contains(where: { part.range?.contains($0) ?? true }) {
        strip.readers.append(place)
      }
    }
    return strip
  }

  private static func stored(_ part: Part, _ entry: (CacheKey) -> PageEntry?) -> PageEntry? {
    for key in part.keys {
      if let found = entry(key) { return found }
    }
    return nil
  }
}

extension PagePlan.Part {
  fileprivate func isWhole(in entry: PageEntry) -> Bool {
    guard let range else { return entry.length == entry.stored }
    let wanted = range.clamped(to: 0..<max(entry.length ?? .max, 0))
    return wanted.isEmpty
      || entry.spans.ranges.contains {
        $0.lowerBound <= wanted.lowerBound && wanted.upperBound <= $0.upperBound
      }
  }
}

extension PagePlan.Strip {
  fileprivate func isMoreComplete(than other: Self) -> Bool {
    whole * other.length > other.whole * length
  }

  fileprivate mutating func append(_ other: Self) {
    for span in other.spans { spans.extend(by: span.moved(by: length)) }
    for span in other.fetching { fetching.extend(by: span.moved(by: length)) }
    readers += other.readers.map { $0 + length }
    length += other.length
    whole += other.whole
  }
}

extension ByteRange {
  fileprivate func moved(by places: Int64) -> ByteRange {
    lowerBound + places..<upperBound + places
  }
}

extension [ByteRange] {
  /// Appends a range behind all others; one that follows the last one at once continues it.
  fileprivate mutating func extend(by range: ByteRange) {
    if let last, last.upperBound == range.lowerBound {
      self[count - 1] = last.lowerBound..<range.upperBound
    } else {
      append(range)
    }
  }
}
