// SPDX-License-Identifier: MIT
import Testing

@testable import RefrainAVFoundation

@Suite struct ChosenTypeTests {
  @Test func `A type is kept if any type or that type is allowed`() {
    #expect(ContentType.choose("public.mp3", from: nil) == "public.mp3")
    #expect(ContentType.choose("public.mp3", from: ["public.audio", "public.mp3"]) == "public.mp3")
    #expect(ContentType.choose("made.up", from: ["made.up"]) == "made.up")
  }

  @Test(arguments: [
    ("com.apple.m4a-audio", ["public.mpeg-4-audio", "public.audio"], "public.mpeg-4-audio"),
    ("com.apple.m4v-video", ["public.movie", "public.mpeg-4"], "public.mpeg-4"),
    ("public.mpeg-4", ["com.apple.m4a-audio"], "com.apple.m4a-audio"),
    ("public.mpeg-4", ["public.movie", "com.apple.m4v-video"], "com.apple.m4v-video"),
    ("public.mpeg-4", ["com.apple.m4a-audio", "com.apple.m4v-video"], "com.apple.m4v-video"),
    ("public.mpeg-4-audio", ["com.apple.m4v-video", "com.apple.m4a-audio"], "com.apple.m4a-audio"),
    ("com.apple.m4a-audio", ["com.apple.quicktime-movie"], "com.apple.quicktime-movie"),
    (
      "com.apple.m4a-audio", ["com.apple.protected-mpeg-4-audio-b"],
      "com.apple.protected-mpeg-4-audio-b"
    ),
    ("public.aifc-audio", ["public.aiff-audio"], "public.aiff-audio"),
    ("public.mp2", ["public.mp3"], "public.mp3"),
  ])
  func `The allowed type of the same format that is most alike is chosen`(
    _ type: String, _ allowed: [String], _ chosen: String
  ) {
    #expect(ContentType.choose(type, from: allowed) == chosen)
  }

  @Test func `No type is chosen if none fits`() {
    #expect(ContentType.choose("public.mp3", from: []) == nil)
    #expect(ContentType.choose("public.mp3", from: ["com.apple.m4a-audio"]) == nil)
    #expect(ContentType.choose("made.up", from: ["public.mp3"]) == nil)
    // The key of an encrypted stream is not media.
    let keys = ["com.apple.streamingkeydelivery.contentkey"]
    #expect(ContentType.choose("public.mpeg-4", from: keys) == nil)
  }
}
