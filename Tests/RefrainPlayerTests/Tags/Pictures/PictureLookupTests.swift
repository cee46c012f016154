// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import TestSupport
import Testing

@testable import RefrainPlayer

/// Reading pictures through the cache, and from files.
@Suite(.timeLimit(.minutes(1))) struct PictureLookupTests {
  private struct Place {
    let origin: OriginServer
    let cache: MediaCache
    let directory: URL

    func serve(
      _ bytes: [UInt8], at path: String, _ change: (inout OriginResource) -> Void = { _ in }
    ) {
      var resource = OriginResource(
        .bytes(bytes), contentType: "audio/mpeg", etag: "\"\(path)\"",
        headers: [Field("Cache-Control", "max-age=86400")])
      change(&resource)
      origin.serve(resource, at: path)
    }

    func look(at path: String) async throws -> PictureLookup.Answer {
      try await PictureLookup(cache: cache, subject: TagSubject(Media(origin.url(path)))).run()
    }

    /// Returns a reader, as a player has it.
    func reader(of path: String) async throws -> MediaReader {
      let media = Media(origin.url(path)).asEngineMedia
      return try await cache.open(try #require(media.resource), fill: .onDemand)
    }
  }

  private func withPlace(_ body: (Place) async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory
      .appending(path: "refrain-pictures-\(UUID().uuidString)", directoryHint: .isDirectory)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    // Bytes in socket buffers count as sent.
    let origin = try await OriginServer.start(sendBuffer: 16 << 10)
    let cache = try MediaCache(directory: directory.appending(path: "cache"))
    let result: Result<Void, any Error>
    do {
      try await body(Place(origin: origin, cache: cache, directory: directory))
      result = .success(())
    } catch {
      result = .failure(error)
    }
    await cache.close()
    await origin.stop()
    try result.get()
  }

  @Test(arguments: ["mp3", "flac", "opus", "m4a"])
  func `What is missing of a picture is requested once, and playing requests the others`(
    _ kind: String
  ) async throws {
    try await withPlace { place in
      let cover = TagSamples.picture(size: 400_000)
      let file =
        switch kind {
        case "mp3": TagSamples.mp3(cover: cover, samples: 900_000)
        case "flac": TagSamples.flac(pictures: [TagSamples.flacPicture(cover)], samples: 900_000)
        case "opus": TagSamples.ogg(.opus, pictures: [TagSamples.flacPicture(cover)])
        default: TagSamples.mp4(covers: [cover], media: 900_000)
        }
      let path = "/a.\(kind)"
      place.serve(file, at: path)
      let player = try await place.reader(of: path)
      defer { player.cancel() }
      let beginning = try await player.bytes(in: 0..<(32 << 10))
      #expect(beginning == Data(file[..<(32 << 10)]))
      #expect(try await place.look(at: path).picture == Data(cover))
      #expect(try await player.bytes(in: 0..<Int64(file.count)) == Data(file))
      let log = place.origin.log(path)
      #expect(log.bodyBytesSent == Int64(file.count) && log.bytesSentTwice == 0)
    }
  }

  @Test func `Nothing is requested for a media that does not play`() async throws {
    try await withPlace { place in
      place.serve(TagSamples.mp3(cover: TagSamples.picture()), at: "/a.mp3")
      let answer = try await place.look(at: "/a.mp3")
      #expect(answer == PictureLookup.Answer(isPartial: true))
      #expect(place.origin.log("/a.mp3").requests.isEmpty)
    }
  }

  @Test func `A stored picture costs no request, even if its origin wants to be asked`()
    async throws
  {
    try await withPlace { place in
      let cover = TagSamples.picture(size: 100_000)
      place.serve(TagSamples.mp3(cover: cover), at: "/a") {
        $0.headers = [Field("Cache-Control", "no-cache")]
      }
      let player = try await place.reader(of: "/a")
      defer { player.cancel() }
      _ = try await player.bytes(in: 0..<(1 << 30))
      let requests = place.origin.log("/a").requests.count
      #expect(try await place.look(at: "/a") == PictureLookup.Answer(picture: Data(cover)))
      #expect(place.origin.log("/a").requests.count == requests)
    }
  }

  @Test func `What is not stored is not requested for its picture`() async throws {
    try await withPlace { place in
      place.serve(TagSamples.mp3(cover: TagSamples.picture(size: 100_000)), at: "/a.mp3") {
        $0.headers = [Field("Cache-Control", "no-store")]
      }
      let player = try await place.reader(of: "/a.mp3")
      defer { player.cancel() }
      _ = try await player.bytes(in: 0..<(32 << 10))
      let requests = place.origin.log("/a.mp3").requests.count
      #expect(try await place.look(at: "/a.mp3").picture == nil)
      #expect(place.origin.log("/a.mp3").requests.count == requests)
    }
  }

  @Test func `A picture at the end is read once all is stored`() async throws {
    try await withPlace { place in
      let cover = TagSamples.picture()
      place.serve(
        TagSamples.wave(cover: cover, isTagFirst: false, samples: 600_001), at: "/a.wav")
      let player = try await place.reader(of: "/a.wav")
      defer { player.cancel() }
      _ = try await player.bytes(in: 0..<(17 << 10))
      try await place.origin.wait(for: "/a.wav") { $0.running == 0 }
      let sent = place.origin.log("/a.wav").bodyBytesSent
      #expect(try await place.look(at: "/a.wav") == PictureLookup.Answer(isPartial: true))
      #expect(place.origin.log("/a.wav").bodyBytesSent == sent)
      _ = try await player.bytes(in: 0..<(1 << 30))
      #expect(try await place.look(at: "/a.wav") == PictureLookup.Answer(picture: Data(cover)))
      #expect(place.origin.log("/a.wav").bytesSentTwice == 0)
    }
  }

  // MARK: Files

  @Test func `A file is read directly`() async throws {
    try await withPlace { place in
      let cover = TagSamples.picture(size: 300_000)
      for (name, bytes) in [
        ("a.m4a", TagSamples.mp4(isMovieFirst: false, covers: [cover])),
        ("b.ogg", TagSamples.ogg(.opus, pictures: [TagSamples.flacPicture(cover)])),
        ("c.mp3", TagSamples.mp3(cover: cover)),
      ] {
        let file = place.directory.appending(path: name)
        try Data(bytes).write(to: file)
        let lookup = PictureLookup(cache: place.cache, subject: TagSubject(Media(file)))
        #expect(try await lookup.run() == PictureLookup.Answer(picture: Data(cover)))
      }
    }
  }

  @Test func `A pipe and a missing file have no picture`() async throws {
    try await withPlace { place in
      let pipe = place.directory.appending(path: "pipe.mp3")
      try #require(mkfifo(pipe.path(percentEncoded: false), 0o600) == 0)
      for file in [pipe, place.directory.appending(path: "missing.mp3"), place.directory] {
        let lookup = PictureLookup(cache: place.cache, subject: TagSubject(Media(file)))
        #expect(try await lookup.run().picture == nil)
      }
    }
  }
}
