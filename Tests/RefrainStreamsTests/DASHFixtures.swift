// SPDX-License-Identifier: MIT
import Foundation

/// The URL of the MPDs of these tests.
let mpdURL = {
  var parts = URLComponents()
  (parts.scheme, parts.host) = ("https", "a.example")
  (parts.path, parts.query) = ("/one/two/x.mpd", "key=1")
  return parts.url ?? URL(filePath: "/")
}()

/// An MPD of one Representation.
func mpd(ofRepresentation content: String) -> [UInt8] {
  Array(
    """
    <MPD xmlns="urn:mpeg:dash:schema:mpd:2011"><Period><AdaptationSet><Representation id="1">
    \(content)
    </Representation></AdaptationSet></Period></MPD>
    """.utf8)
}

/// An MPD with every kind of reference.
let richMPD = """
  <?xml version="1.0" encoding="utf-8"?>
  <!-- Made by hand: <BaseURL>https://comment.example/</BaseURL> -->
  <!DOCTYPE MPD>
  <mpd:MPD xmlns:mpd="urn:mpeg:dash:schema:mpd:2011" xmlns:xlink="http://www.w3.org/1999/xlink"
    xmlns:l='http://www.w3.org/1999/xlink' type="static" mediaPresentationDuration="PT1M">
    <ProgramInformation moreInformationURL="https://a.example/more"><Title>A &lt; B</Title>
    </ProgramInformation>
    <mpd:BaseURL serviceLocation="one">https://b.example/v/?a=1&amp;b=2</mpd:BaseURL>
    <mpd:BaseURL><![CDATA[https://c.example/v/?a=1&b=2]]></mpd:BaseURL>
    <mpd:Location>/l.mpd</mpd:Location>
    <PatchLocation ttl="60">
      https://a.example/p.mpp
    </PatchLocation>
    <InitializationSet id="1" initialization="all.mp4"/>
    <Period id='1' xlink:href="https://d.example/period" xlink:actuate="onLoad"/>
    <Period id='2' l:href='urn:mpeg:dash:resolve-to-zero:2013'/>
    <Period id="3" start="PT0S">
      <BaseURL>../w/</BaseURL>
      <SegmentList timescale='1' xlink:href='/list'/>
      <AdaptationSet mimeType="video/mp4" lang="en" bitstreamSwitching="true">
        <ContentProtection schemeIdUri="urn:uuid:1"><pssh>AAAA</pssh></ContentProtection>
        <BaseURL>//e.example/s/</BaseURL>
        <SegmentTemplate timescale="1000" startNumber="1" media="$RepresentationID$/$Number%05d$"
          initialization='/i/$RepresentationID$.mp4' index="../../../$Time$.idx"
          bitstreamSwitching="https://f.example/$$">
          <SegmentTimeline><S t="0" d="1000" r="3"/><S d='500'/></SegmentTimeline>
        </SegmentTemplate>
        <Representation id="1" bandwidth="100000" width="640" height="360"/>
        <Representation id="2" bandwidth="200000" width="1280" height="720">
          <BaseURL>./r/</BaseURL>
        </Representation>
      </AdaptationSet>
      <AdaptationSet mimeType="audio/mp4">
        <Representation id="3" bandwidth="64000">
          <SegmentList duration="10">
            <Initialization sourceURL="init.mp4" range="0-99"/>
            <SegmentURL media="1.m4s" mediaRange="0-9" index='1.idx'/>
            <SegmentURL media="/2.m4s"></SegmentURL>
          </SegmentList>
        </Representation>
        <Representation id="4" bandwidth="32000">
          <BaseURL>all.mp4</BaseURL>
          <SegmentBase indexRange="100-199"><Initialization range="0-99"/>
            <RepresentationIndex sourceURL="x.idx"/><?ignore <BaseURL>g</BaseURL> ?>
          </SegmentBase>
        </Representation>
      </AdaptationSet>
    </Period>
    <UTCTiming schemeIdUri="urn:mpeg:dash:utc:http-iso:2014" value="https://time.example/"/>
  </mpd:MPD>

  """
