// SPDX-License-Identifier: MIT
import Foundation

@testable import RefrainPlayer

/// Media with pictures, made by hand.
extension TagSamples {
  /// The first bytes of a picture, and then what unsynchronization separates.
  static func picture(_ format: PictureFormat = .jpeg, size: Int = 5000) -> [UInt8] {
    let start: [UInt8] =
      switch format {
      case .jpeg: [0xFF, 0xD8, 0xFF, 0xE0]
      case .png: [0x89] + Array("PNG\r\n\u{1A}\n".utf8)
      case .gif: Array("GIF89a".utf8)
      case .webP: Array("RIFF".utf8) + little(size - 8, 4) + Array("WEBP".utf8)
      }
    let bytes: [UInt8] = start + [0xFF, 0, 0xFF, 0xE1, 0, 0]
    return bytes + noise(size - bytes.count)
  }

  // MARK: ID3

  /// The content of a frame with a picture.
  static func apic(
    _ picture: [UInt8], type: Int = 3, version: Int, _ encoding: TagText.Encoding = .latin1
  ) -> [UInt8] {
    let description = text("Cover", encoding)
    let end: [UInt8] = [.latin1, .utf8].contains(encoding) ? [0] : [0, 0]
    let kind: [UInt8] = version == 2 ? Array("JPG".utf8) : Array("image/jpeg\0".utf8)
    let head: [UInt8] = [encoding.rawValue] + kind + [UInt8(type)]
    return head + Array(description.dropFirst()) + end + picture
  }

  static func pictureFrame(
    _ picture: [UInt8], type: Int = 3, version: Int, _ encoding: TagText.Encoding = .latin1,
    flags: Int = 0
  ) -> [UInt8] {
    let content = apic(picture, type: type, version: version, encoding)
    return frame(version == 2 ? "PIC" : "APIC", content, version: version, flags: flags)
  }

  /// MPEG audio with a picture in front of the texts.
  static func mp3(cover: [UInt8], version: Int = 3, samples: Int = 40_000) -> [UInt8] {
    let all = pictureFrame(cover, version: version) + frames(version: version, .utf16)
    return id3(all, version: version) + [0xFF, 0xFB] + noise(samples)
  }

  /// Inserts the zeros of unsynchronization.
  static func unsynchronized(_ bytes: [UInt8]) -> [UInt8] {
    bytes.flatMap { $0 == 0xFF ? [0xFF, 0] : [$0] }
  }

  // MARK: FLAC and Ogg

  /// The content of a block with a picture.
  static func flacPicture(_ picture: [UInt8], type: Int = 3) -> [UInt8] {
    let kind = Array("image/jpeg".utf8)
    let name = Array("Cover".utf8)
    let head: [UInt8] = big(type, 4) + big(kind.count, 4) + kind + big(name.count, 4) + name
    return head + [UInt8](repeating: 0, count: 16) + big(picture.count, 4) + picture
  }

  /// - Parameter pictures: the contents of blocks.
  static func flac(pictures: [[UInt8]], samples: Int = 40_000) -> [UInt8] {
    let head: [UInt8] = Array("fLaC".utf8) + block(0, noise(34))
    let blocks = pictures.flatMap { block(6, $0) }
    return head + blocks + block(4, comments()) + block(1, noise(100), isLast: true)
      + noise(samples)
  }

  /// - Parameter pictures: the contents of such blocks.
  static func ogg(_ codec: Codec, pictures: [[UInt8]], segments: Int = 255) -> [UInt8] {
    let comments = pictures.map { "metadata_block_picture=" + Data($0).base64EncodedString() }
    return ogg(codec, extra: comments, segments: segments)
  }

  // MARK: Chunks

  static func wave(
    cover: [UInt8], isTagFirst: Bool = true, samples: Int = 40_001
  ) -> [UInt8] {
    let tag = chunk("id3 ", id3(pictureFrame(cover, version: 3), version: 3))
    let media = chunk("data", noise(samples))
    let head: [UInt8] = Array("RIFF".utf8) + little(1 << 30, 4) + Array("WAVE".utf8)
    return head + chunk("fmt ", noise(16)) + (isTagFirst ? tag + media : media + tag)
  }

  static func aiff(cover: [UInt8]) -> [UInt8] {
    let head: [UInt8] = Array("FORM".utf8) + big(1 << 30, 4) + Array("AIFF".utf8)
    let tag = id3(pictureFrame(cover, version: 4), version: 4)
    return head + chunk("COMM", noise(18), isBig: true) + chunk("ID3 ", tag, isBig: true)
      + chunk("SSND", noise(4001), isBig: true)
  }

  /// A medium of each format, with `picture()`.
  static let pictured: [[UInt8]] =
    [mp3(cover: picture(), version: 2), mp3(cover: picture()), mp3(cover: picture(), version: 4)]
    + [
      id3(unsynchronized(pictureFrame(picture(), version: 3)), version: 3, flags: 0x80),
      flac(pictures: [flacPicture(picture())]), mp4(covers: [picture()]),
      mp4(isMovieFirst: false, covers: [picture()]), wave(cover: picture()),
      aiff(cover: picture()),
    ]
    + Codec.allCases.map { ogg($0, pictures: [flacPicture(picture())]) }

  // MARK: Reading

  /// The result of looking for a picture, and what had to be read for it.
  struct PictureRead {
    var picture: [UInt8]?
    var bytes: Int64 = 0
    var steps = 0
    var hasGaps = false
  }

  /// Looks for the picture, of which only those bytes are read that the parser asks for.
  ///
  /// - Parameters:
  ///   - file: the whole media.
  ///   - optional: whether bytes behind the media are stored.
  ///   - step: the fewest bytes that are read at once.
  static func readPicture(
    _ file: [UInt8], optional: Bool = true, step: Int64 = 1
  ) -> PictureRead {
    var read = PictureRead()
    let length = Int64(file.count)
    var bytes = TagBytes(length: length, mostAtOnce: EmbeddedPicture.mostAtOnce)
    while read.steps < 5000 {
      do throws(TagBytes.Missing) {
        read.picture = try EmbeddedPicture.picture(in: bytes)
        read.hasGaps = bytes.hasGaps
        return read
      } catch {
        read.steps += 1
        if error.isOptional && !optional {
          bytes.leaveOut(error.range)
          continue
        }
        let start = error.range.lowerBound
        let end = min(max(error.range.upperBound, start + step), length)
        guard let next = bytes.unread(of: start..<end) else { return read }
        read.bytes += next.upperBound - next.lowerBound
        bytes.add(Array(file[Int(next.lowerBound)..<Int(next.upperBound)]), at: next.lowerBound)
      }
    }
    return read
  }
}
