// SPDX-License-Identifier: MIT
import Foundation

/// The title of a live stream from a byte on, as its server reports it (Icecast, SHOUTcast).
///
/// Servers send titles when the resource's requests ask for them: `Icy-MetaData: 1` in
/// `Resource.headers`. Readers never see the metadata among the bytes.
public struct StreamTitle: Sendable, Hashable {
  /// The title, often `Artist - Title`; nil if the server sends none.
  public var title: String?
  /// A URL for the title, as sent: a page, a cover, or nothing useful.
  public var url: String?
  public var station: StreamStation
  /// The reader's byte from which the title applies: it becomes audible with that byte.
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

/// The sender of a live stream: its `icy-` fields.
public struct StreamStation: Sendable, Hashable {
  /// `icy-name`
  public var name: String?
  /// `icy-genre`
  public var genre: String?
  /// `icy-url`: the station's page, as sent.
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
}

/// The `icy-` fields of a response, and of its request.
enum ICYFields {
  /// Removes the number of bytes between blocks of metadata: readers receive none of these.
  static func takeInterval(_ headers: inout HeaderFields) throws(MediaCacheError) -> Int64? {
    let value = headers["icy-metaint"]?.trimmingOWS
    headers["icy-metaint"] = nil
    guard let value, value != "0" else { return nil }
    // Stations use some 8 or 16 KiB.
    guard let interval = Int64(digits: value), 1...(16 << 20) ~= interval else {
      throw ResponseCheck.invalid("sends titles at an invalid interval (icy-metaint)")
    }
    return interval
  }

  /// Without the request field there is no metadata. Servers accept other values than 1, too.
  static func isAsked(_ request: HeaderFields) -> Bool {
    guard let value = request["Icy-MetaData"]?.trimmingOWS else { return false }
    return !value.isEmpty && value != "0"
  }

  /// Whether the response is a station's: it sends what is playing now, and another response begins
  /// elsewhere. A validator, however, means that the bytes stay.
  static func isLive(_ headers: HeaderFields) -> Bool {
    Validator(headers: headers).isEmpty
      && headers.fields.contains { ["icy-", "ice-"].contains($0.name.lowercased().prefix(4)) }
  }
}

/// One block of metadata between the audio of a stream:
/// `StreamTitle='Artist - Title';StreamUrl='http://…';`, padded with NULs. A pure value.
struct ICYMetadata: Sendable, Hashable {
  /// Empty if the block clears it; nil if the block does not mention it.
  var title: String?
  /// As sent: often relative, or no URL at all. Empty and nil as above.
  var url: String?
  /// The first byte of the audio that it applies to.
  var offset: Int64

  /// - Parameter block: without its length byte.
  init(_ block: some Sequence<UInt8>, at offset: Int64 = 0) {
    self.offset = offset
    let bytes = block.prefix { $0 != 0 }
    // The encoding is unspecified: UTF-8 if valid, else Latin-1, which always is.
    let text = String(bytes: bytes, encoding: .utf8) ?? String(bytes: bytes, encoding: .isoLatin1)
    func value(of name: String) -> String? {
      guard let text, let start = text.range(of: name + "='", options: .caseInsensitive) else {
        return nil
      }
      let rest = text[start.upperBound...]
      // A quote inside a title is literal: only one before a semicolon, or the last one, ends it.
      let end = rest.firstRange(of: "';")?.lowerBound
      return Self.cleaned(end.map { rest[..<$0] } ?? (rest.last == "'" ? rest.dropLast() : rest))
    }
    (title, url) = (value(of: "StreamTitle"), value(of: "StreamUrl"))
  }

  /// Returns the text without control characters: it will be shown, on terminals too.
  static func cleaned(_ value: some StringProtocol) -> String {
    let scalars = value.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }
    return String(String.UnicodeScalarView(scalars)).trimmingCharacters(in: .whitespaces)
  }
}

/// Separates the metadata from the audio of a body: after every `interval` bytes of audio come one
/// byte L, and 16·L bytes of metadata (`ICYMetadata`). A pure value, of at most 4081 bytes.
struct ICYDemultiplexer: Sendable {
  let interval: Int64
  private(set) var offset: Int64 = 0
  private var audioLeft: Int64
  /// What has come of a block, with its length byte.
  private var block: [UInt8] = []

  init(interval: Int64) {
    self.interval = interval
    audioLeft = interval
  }

  var isBetweenBlocks: Bool { block.isEmpty }

  mutating func take(_ chunk: Data) -> (audio: Data, metadata: [ICYMetadata]) {
    var audio = Data()
    var metadata: [ICYMetadata] = []
    var rest = chunk
    while let first = rest.first {
      if audioLeft > 0 {
        let part = rest.prefix(Int(audioLeft))
        audio += part
        audioLeft -= Int64(part.count)
        offset += Int64(part.count)
        rest = rest.dropFirst(part.count)
        continue
      }
      let length = 1 + 16 * Int(block.first ?? first)
      let part = rest.prefix(length - block.count)
      block += part
      rest = rest.dropFirst(part.count)
      guard block.count == length else { continue }
      if length > 1 { metadata.append(ICYMetadata(block.dropFirst(), at: offset)) }
      block = []
      audioLeft = interval
    }
    return (audio, metadata)
  }
}

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
  /// More than any player buffers ahead.
  static let most = 64

  private(set) var all: [StreamTitle] = []

  /// Replaces all titles if a new response names another station; nil if it does not.
  mutating func begin(_ station: StreamStation) -> StreamTitle? {
    let first = StreamTitle(station: station)
    guard station != StreamStation(), all.first?.station != station else { return nil }
    all = [first]
    return first
  }

  /// Returns the title from there on; nil if it is unchanged.
  mutating func note(_ metadata: ICYMetadata) -> StreamTitle? {
    var next = title(at: metadata.offset) ?? StreamTitle()
    let before = next
    if let title = metadata.title { next.title = title.isEmpty ? nil : title }
    if let url = metadata.url { next.url = url.isEmpty ? nil : url }
    guard next != before else { return nil }
    next.offset = metadata.offset
    all.removeAll { $0.offset >= metadata.offset }
    all.append(next)
    all.removeFirst(max(all.count - Self.most, 0))
    return next
  }

  func title(at offset: Int64) -> StreamTitle? { all.last { $0.offset <= offset } }
}
