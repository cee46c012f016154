// SPDX-License-Identifier: MIT
import Foundation

@testable import RefrainPlayer

/// Media with tags, made by hand: a title, an artist and an album, and around them what real files
/// have. The samples themselves are noise.
enum TagSamples {
  static let title = "Ťitle 桜"
  static let artist = "Ärtist"
  static let album = "Album"
  static let tags = MediaMetadata(title: title, artist: artist, album: album)

  /// Bytes that are no text.
  static func noise(_ count: Int) -> [UInt8] {
    var bytes = (0..<256).map { UInt8(truncatingIfNeeded: 0x80 | ($0 &* 31)) }
    while bytes.count < count { bytes += bytes }
    return Array(bytes[..<count])
  }

  static func big(_ number: Int, _ count: Int) -> [UInt8] {
    (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
  }

  static func little(_ number: Int, _ count: Int) -> [UInt8] { big(number, count).reversed() }

  // MARK: ID3

  static func synchsafe(_ number: Int) -> [UInt8] {
    [21, 14, 7, 0].map { UInt8(number >> $0 & 0x7F) }
  }

  static func text(_ text: String, _ encoding: TagText.Encoding) -> [UInt8] {
    let content: [UInt8] =
      switch encoding {
      case .latin1: text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
      case .utf8: Array(text.utf8)
      case .utf16: [0xFF, 0xFE] + text.utf16.flatMap { little(Int($0), 2) }
      case .utf16BigEndian: text.utf16.flatMap { big(Int($0), 2) }
      }
    return [encoding.rawValue] + content
  }

  /// - Parameter safe: whether the size is of seven bits per byte; nil: as the version has it.
  static func frame(
    _ id: String, _ body: [UInt8], version: Int, flags: Int = 0, safe: Bool? = nil
  ) -> [UInt8] {
    if version == 2 { return Array(id.utf8) + big(body.count, 3) + body }
    let size = safe ?? (version == 4) ? synchsafe(body.count) : big(body.count, 4)
    return Array(id.utf8) + size + big(flags, 2) + body
  }

  static func id3(_ frames: [UInt8], version: Int, flags: UInt8 = 0, padding: Int = 64) -> [UInt8] {
    let body = frames + [UInt8](repeating: 0, count: padding)
    return Array("ID3".utf8) + [UInt8(version), 0, flags] + synchsafe(body.count) + body
  }

  static func frames(version: Int, _ encoding: TagText.Encoding, picture: Int = 0) -> [UInt8] {
    let ids = version == 2 ? ["TT2", "TP1", "TAL", "PIC"] : ["TIT2", "TPE1", "TALB", "APIC"]
    let cover = picture > 0 ? frame(ids[3], noise(picture), version: version) : []
    return cover + frame(ids[0], text(title, encoding), version: version)
      + frame(ids[1], text(artist, encoding) + [0], version: version)
      + frame(ids[2], text(album, encoding), version: version)
  }

  static func mp3(version: Int = 4, picture: Int = 0, samples: Int = 40_000) -> [UInt8] {
    id3(frames(version: version, .utf16, picture: picture), version: version) + [0xFF, 0xFB]
      + noise(samples)
  }

  static let id3v1: [UInt8] = {
    func field(_ text: String) -> [UInt8] {
      Array((Array(text.utf8) + [UInt8](repeating: 0, count: 30)).prefix(30))
    }
    return Array("TAG".utf8) + field(title) + field(artist) + field(album)
      + [UInt8](repeating: 0, count: 35)
  }()

  // MARK: Vorbis comments

  static func comments(_ extra: [String] = []) -> [UInt8] {
    let list = extra + ["title=\(title)", "ARTIST=\(artist)", "Album=\(album)"]
    return little(4, 4) + Array("test".utf8) + little(list.count, 4)
      + list.flatMap { little($0.utf8.count, 4) + Array($0.utf8) }
  }

  static func block(_ type: Int, _ body: [UInt8], isLast: Bool = false) -> [UInt8] {
    [UInt8(type | (isLast ? 0x80 : 0))] + big(body.count, 3) + body
  }

  static func flac(picture: Int = 0, samples: Int = 40_000) -> [UInt8] {
    Array("fLaC".utf8) + block(0, noise(34)) + (picture > 0 ? block(6, noise(picture)) : [])
      + block(4, comments()) + block(1, noise(100), isLast: true) + noise(samples)
  }

  /// Splits a packet into pages of at most `most` segments.
  static func pages(
    _ packet: [UInt8], serial: Int, isFirst: Bool = false, segments most: Int = 255
  ) -> [UInt8] {
    var sizes = [UInt8](repeating: 255, count: packet.count / 255) + [UInt8(packet.count % 255)]
    var rest = packet[...]
    var pages: [UInt8] = []
    while !sizes.isEmpty {
      let own = Array(sizes.prefix(most))
      sizes.removeFirst(own.count)
      let body = rest.prefix(own.reduce(0) { $0 + Int($1) })
      rest = rest.dropFirst(body.count)
      pages += Array("OggS".utf8) + [0, isFirst ? 2 : 0] + noise(8) + little(serial, 4) + noise(8)
      pages += [UInt8(own.count)] + own + body
    }
    return pages
  }

  enum Codec: CaseIterable {
    case vorbis, opus, flac
  }

  static func ogg(_ codec: Codec, extra: [String] = [], segments: Int = 255) -> [UInt8] {
    let (first, second): ([UInt8], [UInt8]) =
      switch codec {
      case .vorbis:
        ([1] + Array("vorbis".utf8) + noise(23), [3] + Array("vorbis".utf8) + comments(extra) + [1])
      case .opus: (Array("OpusHead".utf8) + noise(11), Array("OpusTags".utf8) + comments(extra))
      case .flac:
        ([0x7F] + Array("FLAC".utf8) + noise(46), block(4, comments(extra), isLast: true))
      }
    // Another stream lies in between.
    return pages(noise(40), serial: 9, isFirst: true) + pages(first, serial: 7, isFirst: true)
      + pages(noise(300), serial: 9) + pages(second, serial: 7, segments: segments)
      + pages(noise(5000), serial: 7)
  }

  // MARK: Boxes and chunks

  static func box(_ type: String, _ body: [UInt8]) -> [UInt8] {
    big(body.count + 8, 4) + type.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } + body
  }

  /// - Parameter covers: pictures; otherwise `picture` bytes that are none.
  static func mp4(
    isMovieFirst: Bool = true, picture: Int = 0, covers: [[UInt8]] = [], media: Int = 40_000
  ) -> [UInt8] {
    func item(_ type: String, _ kind: Int, _ body: [UInt8]) -> [UInt8] {
      box(type, box("data", big(kind, 4) + big(0, 4) + body))
    }
    let pictures = covers.isEmpty && picture > 0 ? [noise(picture)] : covers
    let cover = pictures.flatMap { box("data", big(13, 4) + big(0, 4) + $0) }
    let list =
      (cover.isEmpty ? [] : box("covr", cover))
      + item("\u{A9}nam", 1, Array(title.utf8)) + item("\u{A9}ART", 1, Array(artist.utf8))
      + item("\u{A9}alb", 2, album.utf16.flatMap { big(Int($0), 2) })
    let meta = big(0, 4) + box("hdlr", noise(25)) + box("ilst", list)
    let movie = box(
      "moov", box("mvhd", noise(100)) + box("trak", noise(20_000)) + box("udta", box("meta", meta)))
    let head = box("ftyp", Array("M4A isom".utf8))
    // The size of the media has 64 bits.
    let samples = big(1, 4) + Array("mdat".utf8) + big(media + 16, 8) + noise(media)
    return head + (isMovieFirst ? movie + samples : samples + movie)
  }

  static func chunk(_ id: String, _ body: [UInt8], isBig: Bool = false) -> [UInt8] {
    Array(id.utf8) + (isBig ? big(body.count, 4) : little(body.count, 4)) + body
      + (body.count % 2 == 1 ? [0] : [])
  }

  static func wave(isListFirst: Bool = true, samples: Int = 40_000) -> [UInt8] {
    let list = chunk(
      "LIST",
      Array("INFO".utf8) + chunk("INAM", Array(title.utf8) + [0])
        + chunk("IART", Array(artist.utf8)) + chunk("IPRD", Array(album.utf8)))
    let media = chunk("data", noise(samples))
    return Array("RIFF".utf8) + little(1 << 30, 4) + Array("WAVE".utf8) + chunk("fmt ", noise(16))
      + (isListFirst ? list + media : media + list)
  }

  static func aiff() -> [UInt8] {
    Array("FORM".utf8) + big(1 << 30, 4) + Array("AIFF".utf8)
      + chunk("COMM", noise(18), isBig: true)
      + chunk("ID3 ", id3(frames(version: 3, .utf16), version: 3), isBig: true)
      + chunk("SSND", noise(4001), isBig: true)
  }

  static let all: [[UInt8]] =
    [mp3(version: 2), mp3(version: 3), mp3(), mp3(picture: 9000), flac(picture: 9000), aiff()]
    + [mp4(picture: 9000), mp4(isMovieFirst: false), wave(), wave(isListFirst: false)]
    + [[0xFF, 0xFB] + noise(2000) + id3v1] + Codec.allCases.map { ogg($0) }

  // MARK: Reading

  /// The result of parsing, and what had to be read for it.
  struct Read {
    var tags: MediaMetadata?
    var bytes: Int64 = 0
    var steps = 0
  }

  /// Parses bytes, of which only those are read that the parser asks for.
  ///
  /// - Parameters:
  ///   - file: the whole media.
  ///   - optional: whether bytes behind the media are stored.
  ///   - step: the fewest bytes that are read at once.
  static func read(_ file: [UInt8], optional: Bool = true, step: Int64 = 1) -> Read {
    var read = Read()
    var bytes = TagBytes(length: Int64(file.count))
    while read.steps < 2000 {
      do throws(TagBytes.Missing) {
        read.tags = try TagFormat.metadata(in: bytes)
        return read
      } catch {
        read.steps += 1
        if error.isOptional && !optional {
          bytes.leaveOut(error.range)
          continue
        }
        let start = error.range.lowerBound
        let end = min(max(error.range.upperBound, start + step), Int64(file.count))
        guard let next = bytes.unread(of: start..<end) else { return read }
        read.bytes += next.upperBound - next.lowerBound
        bytes.add(Array(file[Int(next.lowerBound)..<Int(next.upperBound)]), at: next.lowerBound)
      }
    }
    return read
  }
}
