// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import TestSupport
import Testing

@testable import Refrain

/// The places for open entries, which several caches of a process share.
@Suite(.timeLimit(.minutes(1))) struct EntryRoomTests {
  @Test func `Nobody overtakes those who wait`() {
    let room = EntryRoom(entries: { 1 })
    #expect(room.take(nil))
    let (first, second) = (room.queue(), room.queue())
    #expect(!room.take(first))
    room.giveBack()
    #expect(!room.take(nil) && !room.take(second))
    #expect(room.take(first) && room.waiting == 1)
    room.giveBack()
    #expect(room.take(second) && room.waiting == 0)
  }

  @Test func `A waiter that leaves lets the next one in`() {
    let room = EntryRoom(entries: { 1 })
    let (first, second) = (room.queue(), room.queue())
    room.leave(first)
    room.leave(first)
    #expect(room.take(second))
  }

  @Test func `The one that is next asks for room, and all give up after a while`() async throws {
    let room = EntryRoom(entries: { 0 }, patience: .zero)
    let ticket = room.queue()
    await #expect(throws: MediaCacheError.self) { try await room.wait(ticket) {} }
    let patient = EntryRoom(entries: { 0 })
    let (first, second) = (patient.queue(), patient.queue())
    var asked: [EntryRoom.Ticket] = []
    for ticket in [second, first] {
      try await patient.wait(ticket) { asked.append(ticket) }
    }
    #expect(asked == [first])
  }

  @Test func `Caches share the places of their process`() async throws {
    let room = EntryRoom(entries: { 2 }, patience: .zero)
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 1, length: 1000), at: "/a")
      let urls = (0..<3).map { test.origin.url("/\($0)") }
      let caches = try (0..<2).map { number in
        try MediaCache(
          directory: test.directory.appending(path: "\(number)"),
          configuration: test.configuration, disk: SystemDisk(for: "/"), room: room)
      }
      let readers = [
        try await caches[0].open(urls[0]), try await caches[1].open(urls[1]),
      ]
      await #expect(throws: MediaCacheError.self) { _ = try await caches[1].open(urls[2]) }
      for reader in readers { reader.cancel() }
      try await eventually("the places are free") { !caches.contains { !$0.table.isEmpty } }
      try await caches[0].open(urls[2]).cancel()
      for cache in caches { await cache.close() }
    }
  }
}
