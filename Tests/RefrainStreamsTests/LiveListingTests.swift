// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain
@testable import RefrainStreams

/// Which resources the versions of a live playlist name again.
struct LiveListingTests {
  private struct Versions {
    var listing = LiveListing()

    /// Returns the names that a version names again: those of another resource with an exclamation
    /// mark.
    mutating func follow(_ text: String) throws -> Set<String> {
      let playlist = try #require(
        HLSMediaPlaylist(
          Array(("#EXTM3U\n#EXT-X-TARGETDURATION:4\n" + text).utf8),
          url: URL(filePath: "/live.m3u8")))
      return Set(listing.follow(playlist).map { $0.uri + ($0.isOther ? "!" : "") })
    }
  }

  /// - Parameter names: of segments in their order.
  private func list(_ first: Int, _ names: String..., end: Bool = false) -> String {
    "#EXT-X-MEDIA-SEQUENCE:\(first)\n" + names.map { "#EXTINF:4,\n\($0)\n" }.joined()
      + (end ? "#EXT-X-ENDLIST\n" : "")
  }

  @Test func `A segment that stays listed is named once`() throws {
    var versions = Versions()
    #expect(try versions.follow(list(7, "a", "b", "c")) == ["a", "b", "c"])
    #expect(try versions.follow(list(7, "a", "b", "c")) == [])
    #expect(try versions.follow(list(8, "b", "c", "d")) == ["d"])
    #expect(try versions.follow(list(9, "c", "d", "e", end: true)) == [])
  }

  @Test func `A name that comes back is that of another segment`() throws {
    var versions = Versions()
    _ = try versions.follow(list(0, "a", "b", "c"))
    #expect(try versions.follow(list(1, "b", "c", "d")) == ["d"])
    #expect(try versions.follow(list(2, "c", "d", "a")) == ["a!"])
    #expect(try versions.follow(list(3, "d", "a", "b")) == ["b!"])
  }

  @Test func `A name with another number, duration or range is that of another segment`() throws {
    var versions = Versions()
    _ = try versions.follow(list(0, "a", "b"))
    #expect(try versions.follow(list(1, "b", "a")) == ["a!"])
    #expect(
      try versions.follow("#EXT-X-MEDIA-SEQUENCE:1\n#EXTINF:4,\nb\n#EXTINF:3,\na\n") == ["a!"])
    var ranges = Versions()
    func range(_ first: Int, _ starts: Int...) -> String {
      "#EXT-X-MEDIA-SEQUENCE:\(first)\n"
        + starts.map { "#EXT-X-BYTERANGE:10@\($0)\n#EXTINF:4,\nall\n" }.joined()
    }
    #expect(try ranges.follow(range(0, 0, 10)) == ["all"])
    #expect(try ranges.follow(range(1, 10, 20)) == [])
    #expect(try ranges.follow(range(2, 0)) == ["all!"])
  }

  @Test func `A sequence that begins again names other segments`() throws {
    var versions = Versions()
    _ = try versions.follow(list(0, "a", "b", "c"))
    #expect(try versions.follow(list(0, "a")) == ["a!"])
    #expect(try versions.follow(list(0, "a", "b")) == ["b!"])
    #expect(try versions.follow(list(0, "a", "b", "x")) == ["x"])
  }

  @Test func `A client that is a segment behind names nothing again`() throws {
    var versions = Versions()
    _ = try versions.follow(list(4, "a", "b", "c"))
    _ = try versions.follow(list(5, "b", "c", "d"))
    #expect(try versions.follow(list(4, "a", "b", "c")) == [])
    #expect(try versions.follow(list(5, "b", "c", "d")) == [])
    #expect(try versions.follow(list(6, "c", "d", "e")) == ["e"])
    // Two segments are no delay.
    #expect(try versions.follow(list(4, "a", "b", "c")) == ["a!", "b!", "c!"])
  }

  @Test func `A token that changes with each version names nothing again`() throws {
    var versions = Versions()
    _ = try versions.follow(list(0, "a?t=1", "b?t=1"))
    #expect(try versions.follow(list(1, "b?t=2", "c?t=2")) == ["c?t=2"])
    #expect(try versions.follow(list(2, "c?t=3", "a?t=3")) == ["a?t=3"])
    // The name itself comes back.
    var queries = Versions()
    _ = try queries.follow(list(0, "s?0", "s?1"))
    #expect(try queries.follow(list(1, "s?1", "s?2")) == ["s?2"])
    #expect(try queries.follow(list(2, "s?2", "s?0")) == ["s?0!"])
  }

  @Test func `Initializations and keys are named again with a restart`() throws {
    func list(_ first: Int, _ name: String, vector: Int) -> String {
      "#EXT-X-MEDIA-SEQUENCE:\(first)\n#EXT-X-MAP:URI=\"i\"\n"
        + "#EXT-X-KEY:METHOD=AES-128,URI=\"k\",IV=0x\(vector)\n#EXTINF:4,\n\(name)\n"
    }
    var versions = Versions()
    #expect(try versions.follow(list(4, "a", vector: 1)) == ["i", "k", "a"])
    #expect(try versions.follow(list(5, "b", vector: 2)) == ["b"])
    #expect(try versions.follow(list(0, "c", vector: 3)) == ["i!", "k!", "c"])
    // Another key is used in between.
    #expect(try versions.follow("#EXT-X-MEDIA-SEQUENCE:1\n#EXTINF:4,\nd\n") == ["d"])
    #expect(try versions.follow(list(2, "e", vector: 4)) == ["i!", "k!", "e"])
  }

  @Test func `What a delta update leaves out stays listed`() throws {
    var versions = Versions()
    _ = try versions.follow(list(0, "a", "b", "c", "d"))
    let delta =
      "#EXT-X-MEDIA-SEQUENCE:1\n#EXT-X-SKIP:SKIPPED-SEGMENTS=2\n#EXTINF:4,\nd\n#EXTINF:4,\ne\n"
    #expect(try versions.follow(delta) == ["e"])
    #expect(try versions.follow(list(1, "b", "c", "d", "e")) == [])
    #expect(try versions.follow(list(2, "c", "d", "e", "a")) == ["a!"])
  }

  @Test func `A complete playlist names nothing again`() throws {
    var versions = Versions()
    #expect(try versions.follow(list(0, "a", "b", end: true)) == [])
  }

  @Test func `An MPD that changes begins when it says`() {
    func beginning(_ attributes: String) -> String? {
      LiveListing.beginning(
        ofDescription: Array("<?xml version=\"1.0\"?><MPD \(attributes)/>".utf8))
    }
    #expect(
      beginning("type=\"dynamic\" availabilityStartTime=\"2026-01-01T00:00:00Z\"")
        == "2026-01-01T00:00:00Z")
    #expect(beginning("type=\"dynamic\"") == "")
    #expect(beginning("type=\"static\"") == nil && beginning("") == nil)
    #expect(LiveListing.beginning(ofDescription: Array("#EXTM3U\n".utf8)) == nil)
  }
}
