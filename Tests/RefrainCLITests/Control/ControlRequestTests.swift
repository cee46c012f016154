// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import RefrainCLI

/// Lines of clients, and the commands in them.
struct ControlRequestTests {
  private func request(_ line: String) throws -> ControlRequest? {
    try ControlRequest(Array(line.utf8))
  }

  @Test func `A line has words and the identifier of the client`() throws {
    let line = #"{"command": ["seek", 30, "relative", true, 1.5, null], "request_id": 7}"#
    let request = try #require(try request(line))
    #expect(
      request.words == [
        .string("seek"), .integer(30), .string("relative"), .bool(true), .number(1.5), .null,
      ])
    #expect(request.id == .integer(7))
    #expect(try self.request(#"{"command":["stop"]}"#)?.id == .integer(0))
    #expect(try self.request(#"{"command":["stop"],"request_id":"x"}"#)?.id == .string("x"))
    #expect(try self.request("{\"command\":[\"stop\"],\"other\":[{}]}\r")?.words.count == 1)
  }

  @Test(arguments: ["", "   ", "\t\r", "# a comment", "  #"])
  func `Empty lines and comments have no answer`(_ line: String) throws {
    #expect(try request(line) == nil)
  }

  @Test(
    arguments: [
      "nonsense", "[]", "7", "null", "{}", "{", #"{"command"}"#, #"{"command":"stop"}"#,
      #"{"command":{"name":"stop"}}"#, #"{"command":[["stop"]]}"#, #"{"command":[{}]}"#,
      #"{"command":["seek",NaN]}"#, #"{"command":["seek",Infinity]}"#,
      #"{"command":["seek",1e999]}"#,
      #"{"command":["stop"],"request_id":[1]}"#, #"{"command":["stop"]} trailing"#,
      "{\"command\":[\"st\u{0}op\"]}", String(repeating: "[", count: 60_000),
      #"{"command":"# + String(repeating: "[", count: 30_000)
        + String(repeating: "]", count: 30_000) + "}",
      String(repeating: #"{"a":"#, count: 10_000),
      #"{"command":[\#(Array(repeating: "1", count: 20_000).joined(separator: ","))]}"#,
    ])
  func `Any other line is refused with an example`(_ line: String) {
    do throws(ControlFailure) {
      _ = try ControlRequest(Array(line.utf8))
      Issue.record("accepted: \(line.prefix(80))")
    } catch {
      #expect(error.refusal.fault == .invalidParameter)
      #expect(error.refusal.message.contains(#"{"command": ["get_property""#))
    }
  }

  @Test func `Bytes that are no text are refused`() {
    for byte in UInt8.min...UInt8.max where ![0x20, 0x09, 0x0D, 0x23].contains(byte) {
      #expect(throws: ControlFailure.self) { try ControlRequest([byte, 0xFF, 0xFE, 0x00]) }
    }
  }

  // MARK: Commands

  private func command(_ words: String) throws -> ControlCommand {
    try ControlCommand(#require(try request(#"{"command":[\#(words)]}"#)).words)
  }

  @Test(
    arguments: [
      (#""get_property","pause""#, .get(.pause)),
      (#""observe_property",1,"time-pos""#, .observe(1, "time-pos")),
      (#""observe_property",2,"unknown""#, .observe(2, "unknown")),
      (#""unobserve_property",1"#, .unobserve(1)), (#""client_name""#, .clientName),
      (#""get_version""#, .version),
      (#""set_property","volume","50""#, .set(.volume, .string("50"))),
      (#""set","pause","yes""#, .set(.pause, .string("yes"))), (#""cycle","mute""#, .cycle(.mute)),
      (#""cycle","mute","down""#, .cycle(.mute)), (#""add","volume",-5"#, .add(.volume, -5)),
      (#""add","volume""#, .add(.volume, 1)), (#""seek",30"#, .seek(30, .relative)),
      (#""seek","12.5","absolute""#, .seek(12.5, .absolute)),
      (#""seek",50,"absolute-percent+exact""#, .seek(50, .absolutePercent)),
      (#""seek",50,"keyframes+relative-percent""#, .seek(50, .relativePercent)),
      (#""seek",5,"relative","exact""#, .seek(5, .relative)),
      (#""stop""#, .stop(keepsQueue: false)), (#""stop","keep-playlist""#, .stop(keepsQueue: true)),
      (#""quit""#, .quit), (#""quit",3"#, .quit), (#""playlist-next""#, .next(isForced: false)),
      (#""playlist-next","weak""#, .next(isForced: false)),
      (#""playlist-next","force""#, .next(isForced: true)),
      (#""playlist-prev""#, .previous(isForced: false)),
      (#""playlist-play-index",2"#, .playIndex(.at(2))),
      (#""playlist-play-index","current""#, .playIndex(.current)),
      (#""playlist-play-index","none""#, .playIndex(.none)),
      (#""playlist-remove","0""#, .remove(.at(0))), (#""playlist-move",3,0"#, .move(3, to: 0)),
      (#""playlist-clear""#, .clear), (#""loadfile","a.ogg""#, .load("a.ogg", .replace)),
      (#""loadfile","a.ogg","append-play""#, .load("a.ogg", .appendPlay)),
      (#""loadfile","a.ogg","insert-next""#, .load("a.ogg", .insertNext)),
      (#""loadlist","a.m3u","append""#, .load("a.m3u", .append)),
    ] as [(String, ControlCommand)])
  func `A command is read with its arguments`(_ words: String, _ expected: ControlCommand) throws {
    #expect(try command(words) == expected)
  }

  @Test(arguments: [
    "", "7", "null", #""nonsense""#, #""GET_PROPERTY","pause""#, #""get_property""#,
    #""get_property",1"#, #""get_property","pause","x""#, #""observe_property","x","pause""#,
    #""observe_property",1.5,"pause""#, #""observe_property",1"#, #""set_property","pause""#,
    #""seek""#, #""seek","x""#, #""seek","nan""#, #""seek","inf""#, #""seek",1e300"#,
    #""seek",1,"bad""#, #""seek",1,"absolute+relative""#, #""seek",1,2"#, #""stop","all""#,
    #""playlist-next","maybe""#, #""playlist-play-index","x""#, #""playlist-remove",1e30"#,
    #""playlist-remove",null"#, #""playlist-move",1"#, #""loadfile""#, #""loadfile",3"#,
    #""loadfile","a","foo""#, #""loadfile","a","append","0""#, #""client_name",1"#,
    #""run","/bin/true""#, #""subprocess""#,
  ])
  func `Unknown commands and wrong arguments are invalid parameters`(_ words: String) throws {
    do throws(ControlRefusal) {
      let words = try? request(#"{"command":[\#(words)]}"#)?.words
      _ = try ControlCommand(words ?? [])
      Issue.record("accepted")
    } catch {
      #expect(error.fault == .invalidParameter && !error.message.isEmpty)
    }
  }

  @Test(arguments: [
    #""get_property","nonsense""#, #""set_property","nonsense",1"#, #""cycle","nonsense""#,
    #""add","nonsense",1"#,
  ])
  func `Unknown properties are named, with those that exist`(_ words: String) throws {
    do throws(ControlRefusal) {
      _ = try ControlCommand((try? request(#"{"command":[\#(words)]}"#)?.words) ?? [])
      Issue.record("accepted")
    } catch {
      #expect(error.fault == .propertyNotFound)
      #expect(error.message.contains("'nonsense'") && error.message.contains("media-title"))
    }
  }

  @Test func `The names of commands in the help are those that exist`() {
    for name in ControlCommand.names.split(separator: ", ") {
      do throws(ControlRefusal) {
        _ = try ControlCommand([.string(String(name))])
      } catch {
        // Some lack their arguments.
        #expect(!error.message.contains("There is no command"), "\(name)")
      }
    }
  }

  // MARK: Replies

  @Test func `A reply has the shape of mpv's`() {
    let done = ControlReply(id: .integer(1), answer: .success(.null))
    #expect(done.value.json == #"{"data":null,"error":"success","request_id":1}"#)
    let refused = ControlReply(
      id: .string("a"), answer: .failure(ControlRefusal(.commandFailed, "Nothing plays.")))
    #expect(
      refused.value.json
        == #"{"error":"error running command","message":"Nothing plays.","request_id":"a"}"#)
  }

  @Test func `A written value is read again by Foundation`() throws {
    let text = String(String.UnicodeScalarView((0..<0x300).compactMap(Unicode.Scalar.init)))
    let value = ControlValue.object([
      text: .string(text + "\u{2028}\u{1F600}"), "a": .array([.integer(.min), .number(1e-300)]),
      "b": .number(.infinity), "c": .number(.nan), "d": .bool(true), "e": .array([]),
      "f": .object([:]),
    ])
    #expect(!value.json.contains("\n"))
    let read = try JSONSerialization.jsonObject(with: Data(value.json.utf8))
    let expected: NSDictionary = [
      text: text + "\u{2028}\u{1F600}", "a": [Int.min, 1e-300] as [Any], "b": NSNull(),
      "c": NSNull(), "d": true, "e": [Any](), "f": [String: Any](),
    ]
    #expect(read as? NSDictionary == expected)
  }
}
