// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainPlayer

/// A finger on the scrubber.
struct ScrubbingTests {
  /// Returns a player at an item of 100 seconds in 1,000 bytes, with the given ranges stored.
  private func machine(storing spans: Range<Int64>...) throws -> PlayerMachine {
    var machine = PlayerMachine()
    let url = try #require(URL(string: "http://h/a.mp3"))
    _ = try machine.play([Media(url)]) { [.duration($0, .seconds(100)), .ready($0, at: .zero)] }
    machine.note(
      progress: CacheProgress(length: 1000, spans: RangeSet(spans)), fetching: RangeSet(),
      streamTitle: nil)
    return machine
  }

  private func target(of actions: [PlayerAction]) -> Double? {
    for case .seek(let position, _) in actions { return position / .seconds(1) }
    return nil
  }

  @Test(arguments: [
    (5.0, 5.0), (30.0, 20.0), (39.0, 40.0), (45.0, 45.0), (99.0, 50.0), (-3.0, 0.0),
  ])
  func `Scrubbing stays within the stored ranges`(_ finger: Double, _ place: Double) throws {
    var machine = try machine(storing: 0..<200, 400..<500)
    #expect(target(of: machine.handle(.scrub(.seconds(finger)))) == place)
  }

  @Test func `Scrubbing does nothing when nothing is stored`() throws {
    var machine = try machine()
    #expect(machine.handle(.scrub(.seconds(5))) == [])
    #expect(target(of: machine.handle(.seek(.seconds(5)))) == 5)
  }

  @Test func `Stored byte ranges are converted to times`() throws {
    let machine = try machine(storing: 0..<200, 400..<1000)
    #expect(
      machine.state.cachedRanges == [
        .seconds(0)..<(.seconds(20)), .seconds(40)..<(.seconds(100)),
      ])
  }
}
