// SPDX-License-Identifier: MIT

extension StreamStation {
  init(_ headers: HeaderFields) {
    func text(_ name: String) -> String? {
      let value = headers.values(of: name).first.map { ICYMetadata.cleaned($0.prefix(1024)) }
      return value?.isEmpty == false ? value : nil
    }
    self.init(
      name: text("icy-name"), genre: text("icy-genre"), url: text("icy-url"),
      bitrate: text("icy-br").flatMap { Int($0) })
  }
}

/// The titles of a stream by offset: only the latest, since a station may play for weeks.
struct StreamTitles: Sendable, Hashable {
  /// Hours of titles, and more than any player buffers ahead.
  static let most = 64

  /// Ascending.
  private(set) var all: [StreamTitle] = []

  /// Records the station of a new response; a different one replaces all earlier titles.
  ///
  /// - Returns: the title from its first byte on; nil if nothing is known, or nothing new.
  mutating func begin(_ station: StreamStation) -> StreamTitle? {
    let first = StreamTitle(station: station)
    guard station != StreamStation(), all.first?.station != station else { return nil }
    all = [first]
    return first
  }

  /// - Returns: the title from there on; nil if it is unchanged.
  mutating func note(_ note: ICYDemultiplexer.Note) -> StreamTitle? {
    var next = title(at: note.offset) ?? StreamTitle()
    let before = next
    if let title = note.metadata.title { next.title = title.isEmpty ? nil : title }
    if let url = note.metadata.url { next.url = url.isEmpty ? nil : url }
    guard next != before else { return nil }
    next.offset = note.offset
    all.removeAll { $0.offset >= note.offset }
    all.append(next)
    if all.count > Self.most { all.removeFirst(all.count - Self.most) }
    return next
  }

  /// Returns the title at an offset; nil if it is not known, or no longer.
  func title(at offset: Int64) -> StreamTitle? {
    all.last { $0.offset <= offset }
  }
}
