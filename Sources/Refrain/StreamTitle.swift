// SPDX-License-Identifier: MIT

/// What a live stream plays from a byte on, as its server says (Icecast, SHOUTcast).
///
/// Titles come where the resource's requests ask for them: `Icy-MetaData: 1` in `Resource.headers`.
/// Readers never see the metadata among the bytes.
public struct StreamTitle: Sendable, Hashable {
  /// Often `Artist - Title`; nil where the server names none.
  public var title: String?
  /// What belongs to the title: a page, a cover, or nothing of use. As it was given.
  public var url: String?
  public var station: StreamStation
  /// It holds from this byte of the reader on: it is heard when what lies there is.
  public var offset: Int64

  public init(
    title: String? = nil, url: String? = nil, station: StreamStation = StreamStation(),
    offset: Int64 = 0
  ) {
    self.title = title
    self.url = url
    self.station = station
    self.offset = offset
  }
}

/// Who sends a live stream: its `icy-` fields.
public struct StreamStation: Sendable, Hashable {
  /// `icy-name`
  public var name: String?
  /// `icy-genre`
  public var genre: String?
  /// `icy-url`: its page, as it was given.
  public var url: String?
  /// `icy-br`, in kbit/s.
  public var bitrate: Int?

  public init(
    name: String? = nil, genre: String? = nil, url: String? = nil, bitrate: Int? = nil
  ) {
    self.name = name
    self.genre = genre
    self.url = url
    self.bitrate = bitrate
  }

  init(_ headers: HTTPFields) {
    func text(_ name: String) -> String? {
      let value = headers.values(of: name).first.map { ICYMetadata.cleaned($0.prefix(1024)) }
      return value?.isEmpty == false ? value : nil
    }
    self.init(
      name: text("icy-name"), genre: text("icy-genre"), url: text("icy-url"),
      bitrate: text("icy-br").flatMap { Int($0) })
  }
}

/// The titles of a stream by where they begin: the latest ones, for a station may play for weeks.
struct StreamTitles: Sendable, Hashable {
  /// Hours of titles, and more than any player has ahead of what is heard.
  static let most = 64

  /// Ascending.
  private(set) var all: [StreamTitle] = []

  /// A response has begun: what was said before of its bytes is said anew.
  ///
  /// - Returns: what holds from its first byte on; nil where nothing is known, or nothing new.
  mutating func begin(_ station: StreamStation) -> StreamTitle? {
    let first = StreamTitle(station: station)
    guard station != StreamStation(), all.first?.station != station else { return nil }
    all = [first]
    return first
  }

  /// - Returns: what holds from there on; nil where it is what held before.
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

  /// What holds at an offset; nil where it is not known, or not any more.
  func title(at offset: Int64) -> StreamTitle? {
    all.last { $0.offset <= offset }
  }
}

extension MediaReader {
  /// What the live stream plays at a byte of this reader, as far as has come; nil where nothing is
  /// known of it. The latest 64 titles are remembered. `CacheEvent.streamTitle` tells of each
  /// change.
  public func streamTitle(at offset: Int64) -> StreamTitle? {
    generation.withState { $0.titles.title(at: offset) }
  }
}
