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

/// The `icy-` fields of a response (Icecast, SHOUTcast), and of its request.
enum ICYFields {
  static let request = "Icy-MetaData"
  static let interval = "icy-metaint"

  /// Stations use some 8 or 16 KiB; a much larger value is no interval.
  private static let longestInterval: Int64 = 16 << 20

  /// Returns the bytes of audio between the blocks of metadata in a body; nil if there are none, 0
  /// if the body's bytes cannot be assigned to the resource's.
  static func metadataInterval(
    request: HeaderFields, status: Int, headers: HeaderFields
  ) -> Int64? {
    let isWhole = WholeResponse.statuses.contains(status)
    // Without the request field there is no interleaving.
    guard isWhole || status == 206, isAsked(request), let value = headers[interval] else {
      return nil
    }
    // No specification says whether the range of a 206 counts the metadata.
    let interval = isWhole ? Int64(digits: value.trimmingOWS) ?? 0 : 0
    return interval <= longestInterval ? interval : 0
  }

  /// Servers accept other values than 1, too.
  static func isAsked(_ request: HeaderFields) -> Bool {
    guard let value = request[Self.request]?.trimmingOWS else { return false }
    return !value.isEmpty && value != "0"
  }

  /// Whether the response is a station's: it sends what is playing now, and another response begins
  /// elsewhere. A validator, however, means that the bytes stay.
  static func isLive(_ headers: HeaderFields) -> Bool {
    let isStation = headers.fields.contains { field in
      let name = field.name.lowercased()
      return name.hasPrefix("icy-") || name.hasPrefix("ice-")
    }
    return isStation && Validator(headers: headers).isEmpty
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

  /// - Parameter block: without its length byte. Invalid text is ignored.
  init(_ block: [UInt8], at offset: Int64 = 0) {
    self.offset = offset
    var rest = Self.text(block)[...]
    while let equals = rest.firstRange(of: "='") {
      let name = rest[..<equals.lowerBound].trimmingCharacters(in: .whitespaces).lowercased()
      rest = rest[equals.upperBound...]
      // A quote inside a title is literal: only one before a semicolon ends it.
      let end = rest.firstRange(of: "';")
      var value = rest[..<(end?.lowerBound ?? rest.endIndex)]
      // The last value may lack its semicolon.
      if end == nil, value.last == "'" { value.removeLast() }
      rest = rest[(end?.upperBound ?? rest.endIndex)...]
      if name == "streamtitle" { title = title ?? Self.cleaned(value) }
      if name == "streamurl" { url = url ?? Self.cleaned(value) }
    }
  }

  /// The encoding is unspecified: UTF-8 if valid, else Latin-1, which always is.
  private static func text(_ block: [UInt8]) -> String {
    let bytes = block.prefix { $0 != 0 }
    return String(bytes: bytes, encoding: .utf8) ?? String(bytes: bytes, encoding: .isoLatin1) ?? ""
  }

  /// Returns the text without control characters: it will be shown, on terminals too.
  static func cleaned(_ value: some StringProtocol) -> String {
    let scalars = value.unicodeScalars.map { scalar -> Unicode.Scalar in
      scalar.properties.generalCategory == .control ? " " : scalar
    }
    return String(String.UnicodeScalarView(scalars)).trimmingCharacters(in: .whitespaces)
  }
}

/// Separates the metadata from the audio of a body: after every `interval` bytes of audio come one
/// byte L, and 16·L bytes of metadata (`ICYMetadata`); L = 0: nothing new. Counted from the first
/// byte of the body. A pure value, which holds one block at most: 4080 bytes.
struct ICYDemultiplexer: Sendable {
  let interval: Int64
  /// The bytes of audio returned so far.
  private(set) var offset: Int64 = 0
  private var audioLeft: Int64
  /// The bytes of the block still to arrive; nil: audio is next, or the length byte.
  private var blockLeft: Int?
  private var block: [UInt8] = []

  init(interval: Int64) {
    self.interval = max(interval, 1)
    audioLeft = self.interval
  }

  var isBetweenBlocks: Bool { blockLeft == nil }

  mutating func take(_ chunk: Data) -> (audio: Data, metadata: [ICYMetadata]) {
    var audio = Data()
    var metadata: [ICYMetadata] = []
    var rest = chunk
    while let first = rest.first {
      let part: Data
      if audioLeft > 0 {
        part = rest.prefix(Int(min(audioLeft, Int64(rest.count))))
        audio += part
        audioLeft -= Int64(part.count)
        offset += Int64(part.count)
      } else if let left = blockLeft {
        part = rest.prefix(left)
        block += part
        blockLeft = left - part.count
      } else {
        part = rest.prefix(1)
        blockLeft = Int(first) * 16
      }
      rest = rest.dropFirst(part.count)
      guard blockLeft == 0 else { continue }
      if !block.isEmpty { metadata.append(ICYMetadata(block, at: offset)) }
      block.removeAll(keepingCapacity: true)
      blockLeft = nil
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
  /// Hours of titles, and more than any player buffers ahead.
  static let most = 64

  /// Ascending.
  private(set) var all: [StreamTitle] = []

  /// Replaces all titles if a new response names another station; returns nil if it does not.
  mutating func begin(_ station: StreamStation) -> StreamTitle? {
    let first = StreamTitle(station: station)
    guard station != StreamStation(), all.first?.station != station else { return nil }
    all = [first]
    return first
  }

  /// - Returns: the title from there on; nil if it is unchanged.
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

  /// Returns the title at an offset; nil if it is not known, or no longer.
  func title(at offset: Int64) -> StreamTitle? { all.last { $0.offset <= offset } }
}
